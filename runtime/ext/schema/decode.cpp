#include "runtime/ext/schema/schema.h"

namespace ggml::ext {

const ggml_ext_op * op_of(const ggml_tensor * node) noexcept {
    return static_cast<const ggml_ext_op *>(extension_op(node));
}

const void * attrs_of(const ggml_tensor * node) noexcept {
    const ggml_ext_op * op = op_of(node);
    if (op == nullptr || op->attr_size == 0) return nullptr;
    return reinterpret_cast<const char *>(node->op_params) + kExtensionAttrOffset;
}

} // namespace ggml::ext

ggml_ext_op_t ggml_ext_node_op(const ggml_tensor * node) {
    // Operators are handed out as what registration gave; nothing changes them.
    return node != nullptr ? const_cast<ggml_ext_op *>(ggml::ext::op_of(node)) : nullptr;
}

const void * ggml_ext_node_attrs(const ggml_tensor * node) {
    return node != nullptr ? ggml::ext::attrs_of(node) : nullptr;
}
