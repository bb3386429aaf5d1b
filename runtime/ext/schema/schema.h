// From (operator, inputs, attributes) to a node, and back. Promise: a node that was made here can always be
// decoded and printed; what inference answers is checked before a tensor exists.
#pragma once

#include "runtime/ext/registry/registry.h"

#include <string>

namespace ggml::ext {

// Null for nodes of other operators.
const ggml_ext_op * op_of(const ggml_tensor * node) noexcept;

// op_of(node)->attr_size bytes, not aligned.
const void * attrs_of(const ggml_tensor * node) noexcept;

// "rms_norm(x: f32 [8, 4]) -> f32 [8, 4]".
std::string print_node(const ggml_tensor * node);

} // namespace ggml::ext
