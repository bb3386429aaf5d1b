#include "runtime/ext/schema/infer.h"
#include "runtime/ext/schema/schema.h"
#include "runtime/ext/verdict/guard.h"
#include "runtime/tensor/context.h"

#include <algorithm>
#include <utility>

namespace ggml::ext {
namespace {

struct Request {
    ggml_tensor ** inputs;
    int n_inputs;
    const void * attrs;
    size_t attr_size;
};

bool check_inputs(const ggml_ext_op & op, const Request & request, Verdict & why) {
    const int n = request.n_inputs;
    if (n < 0 || n > GGML_MAX_SRC) {
        return refuse(&why, GGML_EXT_REASON_INPUT_COUNT, -1,
                      "operator %s: %d inputs, at most %d are possible", op.name, n, GGML_MAX_SRC);
    }
    if (n > 0 && request.inputs == nullptr) {
        return refuse(&why, GGML_EXT_REASON_NULL_ARGUMENT, -1, "operator %s: the list of %d inputs is NULL",
                      op.name, n);
    }
    if (std::all_of(request.inputs, request.inputs + n, [](const ggml_tensor * t) { return t == nullptr; })) {
        return refuse(&why, GGML_EXT_REASON_INPUT_GAP, -1, "operator %s: none of its %d inputs is there",
                      op.name, n);
    }
    return true;
}

bool check_attrs(const ggml_ext_op & op, const Request & request, Verdict & why) {
    if (request.attr_size != op.attr_size) {
        return refuse(&why, GGML_EXT_REASON_ATTR_MISMATCH, -1,
                      "operator %s: %zu bytes of attributes, %zu are registered", op.name, request.attr_size,
                      op.attr_size);
    }
    if (op.attr_size > 0 && request.attrs == nullptr) {
        return refuse(&why, GGML_EXT_REASON_NULL_ARGUMENT, -1,
                      "operator %s: attrs is NULL, %zu bytes are needed", op.name, op.attr_size);
    }
    return true;
}

// Null with the reason in `why`.
ggml_tensor * make_node(ggml_context * ctx, const ggml_ext_op & op, const Request & request, Verdict & why) {
    const void * attrs = op.attr_size > 0 ? request.attrs : nullptr;
    Inferred output;
    if (!check_inputs(op, request, why) || !check_attrs(op, request, why) ||
        !infer(op, request.inputs, request.n_inputs, attrs, output, why)) {
        return nullptr;
    }
    ggml_tensor * node = try_new_tensor(ctx, output.type, output.ne);
    if (node == nullptr) {
        refuse(&why, GGML_EXT_REASON_NO_ARENA_ROOM, -1,
               "operator %s: no room for a node in the context, which holds %zu of %zu bytes", op.name,
               ggml_used_mem(ctx), ggml_get_mem_size(ctx));
        return nullptr;
    }
    set_extension_op(node, &op, attrs, op.attr_size);
    std::copy(request.inputs, request.inputs + request.n_inputs, node->src);
    return node;
}

} // namespace
} // namespace ggml::ext

ggml_tensor * ggml_ext_op_create(ggml_context * ctx, ggml_ext_op_t op, ggml_tensor ** inputs, int n_inputs,
                                 const void * attrs, size_t attr_size) {
    using namespace ggml::ext;
    Verdict why;
    ggml_tensor * node = nullptr;
    if (ctx == nullptr || op == nullptr) {
        refuse(&why, GGML_EXT_REASON_NULL_ARGUMENT, -1, "ggml_ext_op_create: %s is NULL",
               ctx == nullptr ? "ctx" : "op");
    } else {
        node = make_node(ctx, *op, {inputs, n_inputs, attrs, attr_size}, why);
    }
    if (node == nullptr) answer(GGML_EXT_REFUSED, std::move(why), /*log=*/true);
    return node;
}
