#include "runtime/ops/extension_node.h"

#include "runtime/ops/params.h"

#include <cstring>

namespace ggml {
namespace {

// Reached only if somebody runs such a node as a function of the CPU, which every device refuses.
void extension_marker(ggml_tensor * dst, int, int, void *) {
    GGML_ABORT("node '%s' belongs to a registered operator and is no function to call", dst->name);
}

} // namespace

static_assert(sizeof(CustomParams) == kExtensionAttrOffset, "attributes follow the parameters of CUSTOM");

const ExtensionOpHead * extension_op(const ggml_tensor * node) {
    if (node->op != GGML_OP_CUSTOM) return nullptr;
    const auto params = get_params<CustomParams>(node);
    return params.fun == extension_marker ? static_cast<const ExtensionOpHead *>(params.userdata) : nullptr;
}

void set_extension_op(ggml_tensor * node, const ExtensionOpHead * op, const void * attrs, size_t attr_size) {
    GGML_ASSERT(attr_size <= kExtensionAttrBytes);
    node->op = GGML_OP_CUSTOM;
    CustomParams params = {};
    params.fun = extension_marker;
    params.n_tasks = 1;
    params.userdata = const_cast<ExtensionOpHead *>(op);
    set_params(node, params);
    char * to = reinterpret_cast<char *>(node->op_params) + kExtensionAttrOffset;
    if (attr_size > 0) std::memcpy(to, attrs, attr_size);
}

} // namespace ggml
