// Copying and converting whole tensors, in parallel, at memory speed where the layouts allow. Used by every
// family that moves data.
#pragma once

#include "backends/cpu/kernels/copy/loops.h"
#include "backends/cpu/kernels/copy/row_convert.h"
#include "backends/cpu/team.h"

namespace ggml::cpu {

// True when copy_tensor can copy: equal element counts, and types that are equal, both plain, a float type
// and a readable quantized type (either way), or two quantized types and equal shapes. From metadata only.
bool can_copy(const ggml_tensor * src, const ggml_tensor * dst);

// dst = src in ggml's element order; shapes may differ. When both lie at the same place with the same layout
// nothing is done; any other overlap is the caller's mistake.
void copy_tensor(const Team & team, const ggml_tensor * src, ggml_tensor * dst);

// The scalar specification of copy_tensor.
void copy_tensor_reference(const ggml_tensor * src, ggml_tensor * dst);

// Runs a simplified or unsimplified nest; the loops' order does not matter to the result.
void copy_nest(const Team & team, LoopNest nest, const char * src, char * dst, const RowMover & mover);

// Part of copy_tensor: one side, or both, quantized and the types different.
void copy_blocks(const Team & team, const ggml_tensor * src, ggml_tensor * dst);

// Tensor metadata for a region of `whole`, at a byte offset and with its own strides, of the shape of `part`.
ggml_tensor region_of(const ggml_tensor * whole, const ggml_tensor * part, const Strides & nb, size_t offset);

} // namespace ggml::cpu
