// Nodes of operators that were registered from outside: GGML_OP_CUSTOM with a marker in place of the caller's
// function, then the operator, then its attributes. The marker is compared, never called for its effect, so
// that no device mistakes such a node for a function of the CPU.
#pragma once

#include "ggml.h"

#include <cstddef>

namespace ggml {

// First part of whatever describes a registered operator.
struct ExtensionOpHead {
    const char * name = nullptr;
};

inline constexpr size_t kExtensionAttrOffset = 24; // behind the parameters every CUSTOM node has
inline constexpr size_t kExtensionAttrBytes = GGML_MAX_OP_PARAMS - kExtensionAttrOffset;

// Null for every other node.
const ExtensionOpHead * extension_op(const ggml_tensor * node);

// Turns a tensor into a node of the operator; attrs is copied. attr_size <= kExtensionAttrBytes.
void set_extension_op(ggml_tensor * node, const ExtensionOpHead * op, const void * attrs, size_t attr_size);

} // namespace ggml
