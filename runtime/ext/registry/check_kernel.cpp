#include "runtime/ext/registry/check_kernel.h"

#include "runtime/ext/registry/name.h"
#include "runtime/ext/verdict/verdict.h"

#include <cstring>

namespace ggml::ext {
namespace {

constexpr uint32_t kKnownFlags = GGML_EXT_KERNEL_CAPTURE_SAFE | GGML_EXT_KERNEL_REPLAY_REUSABLE;

ggml_ext_status check_flags(const ggml_ext_kernel_desc & desc, bool plain) {
    if (plain && desc.flags != 0) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_FLAGS_IN_PLAIN,
                      "kernel %s: ggml_ext_register_kernel was given flags 0x%x", desc.name, desc.flags);
    }
    if ((desc.flags & ~kKnownFlags) != 0) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_FLAGS_UNKNOWN,
                      "kernel %s: flags 0x%x, of which 0x%x are known", desc.name, desc.flags, kKnownFlags);
    }
    if (desc.flags == GGML_EXT_KERNEL_REPLAY_REUSABLE) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_FLAGS_INCOMPLETE,
                      "kernel %s: REPLAY_REUSABLE without CAPTURE_SAFE", desc.name);
    }
    return GGML_EXT_SUCCESS;
}

ggml_ext_status check_callbacks(const ggml_ext_kernel_desc & desc) {
    if (desc.execute == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NO_EXECUTE, "kernel %s: execute is NULL", desc.name);
    }
    if (desc.supports == nullptr && desc.match == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NO_CLAIM, "kernel %s: supports and match are NULL",
                      desc.name);
    }
    return GGML_EXT_SUCCESS;
}

bool computes_nothing(int op) {
    return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW || op == GGML_OP_PERMUTE ||
           op == GGML_OP_TRANSPOSE;
}

// What is wrong with the operator the kernel is for; null when nothing is.
const char * op_problem(const ggml_ext_kernel_desc & desc, int op) {
    if (op < 0 || op >= GGML_OP_COUNT) return "there is no such operator";
    if (op == GGML_OP_CUSTOM && desc.custom_op == nullptr) return "CUSTOM needs custom_op";
    if (op != GGML_OP_CUSTOM && desc.custom_op != nullptr) return "custom_op needs CUSTOM";
    if (computes_nothing(op) && desc.supports != nullptr)
        return "it computes nothing, so nothing supports it";
    return nullptr;
}

ggml_ext_status check_op(const ggml_ext_kernel_desc & desc) {
    int op; // as bytes, because an enum outside its range is no value
    static_assert(sizeof(op) == sizeof(desc.op));
    std::memcpy(&op, &desc.op, sizeof(op));
    const char * problem = op_problem(desc, op);
    if (problem == nullptr) return GGML_EXT_SUCCESS;
    return answer(GGML_EXT_INVALID, GGML_EXT_REASON_UNKNOWN_OP, "kernel %s: operator %d (%s): %s", desc.name,
                  op, op >= 0 && op < GGML_OP_COUNT ? ggml_op_name(ggml_op(op)) : "none", problem);
}

} // namespace

ggml_ext_status check_kernel(const ggml_ext_kernel_desc & desc, bool plain) {
    if (desc.struct_size != sizeof(desc)) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_STRUCT_SIZE,
                      "kernel descriptor: struct_size is %zu, this library knows %zu", desc.struct_size,
                      sizeof(desc));
    }
    if (desc.name == nullptr) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "kernel descriptor: name is NULL");
    }
    if (const char * problem = kernel_name_problem(desc.name))
        return refuse_name("kernel", desc.name, problem);
    ggml_ext_status status = check_flags(desc, plain);
    if (status == GGML_EXT_SUCCESS) status = check_callbacks(desc);
    if (status == GGML_EXT_SUCCESS) status = check_op(desc);
    return status;
}

} // namespace ggml::ext
