#include "runtime/ext/registry/name.h"
#include "runtime/ext/registry/store.h"
#include "runtime/ext/verdict/guard.h"

namespace ggml::ext {
namespace {

static_assert(GGML_EXT_MAX_ATTR_SIZE == kExtensionAttrBytes, "the public limit is the room in a node");

ggml_ext_status check_op(const ggml_ext_op_desc & desc) {
    if (desc.struct_size != sizeof(desc)) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_STRUCT_SIZE,
                      "operator descriptor: struct_size is %zu, this library knows %zu", desc.struct_size,
                      sizeof(desc));
    }
    if (desc.name == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "operator descriptor: name is NULL");
    }
    if (const char * problem = op_name_problem(desc.name)) return refuse_name("operator", desc.name, problem);
    if (desc.attr_size > GGML_EXT_MAX_ATTR_SIZE) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_ATTR_SIZE,
                      "operator %s: %zu bytes of attributes, at most %d are possible", desc.name,
                      desc.attr_size, GGML_EXT_MAX_ATTR_SIZE);
    }
    if (desc.infer == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NO_INFER, "operator %s: infer is NULL", desc.name);
    }
    return GGML_EXT_SUCCESS;
}

std::unique_ptr<ggml_ext_op> make_op(const ggml_ext_op_desc & desc) {
    auto op = std::make_unique<ggml_ext_op>();
    op->full_name = desc.name;
    op->name = op->full_name.c_str();
    op->attr_size = desc.attr_size;
    op->infer = desc.infer;
    op->reference = desc.reference;
    op->user_data = desc.user_data;
    return op;
}

} // namespace
} // namespace ggml::ext

using namespace ggml::ext;

ggml_ext_status ggml_ext_register_op(const ggml_ext_op_desc * desc, ggml_ext_op_t * op) {
    if (op != nullptr) *op = nullptr;
    if (desc == nullptr || op == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "ggml_ext_register_op: %s is NULL",
                      desc == nullptr ? "desc" : "op");
    }
    const ggml_ext_status status = check_op(*desc);
    if (status != GGML_EXT_SUCCESS) return status;
    return guarded("register an operator", [&] {
        std::unique_ptr<ggml_ext_op> made = make_op(*desc);
        ggml_ext_op * const stored = made.get();
        const auto lock = lock_writers();
        const ggml_ext_status added = Registry::of_process().add_op(std::move(made));
        if (added == GGML_EXT_SUCCESS) *op = stored;
        return added;
    });
}

ggml_ext_op_t ggml_ext_find_op(const char * name) {
    ggml_ext_op_t found = nullptr;
    if (name == nullptr) {
        answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "ggml_ext_find_op: name is NULL");
        return found;
    }
    guarded("look for an operator", [&] {
        const auto lock = lock_writers();
        found = Registry::of_process().find_op(name);
        return GGML_EXT_SUCCESS;
    });
    return found;
}

const char * ggml_ext_op_name(ggml_ext_op_t op) { return op != nullptr ? op->name : nullptr; }

size_t ggml_ext_op_attr_size(ggml_ext_op_t op) { return op != nullptr ? op->attr_size : 0; }
