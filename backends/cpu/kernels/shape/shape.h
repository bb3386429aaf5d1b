// Operators that rearrange elements. All but ADD_REL_POS move values unchanged and therefore take any type
// whose rows they do not cut inside a block. Kernel and scalar reference of each stand in one file.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

// dst is src0 followed by src1 along one dimension.
bool concat_supports(const ggml_tensor * dst);
ggml_status concat_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status concat_reference(const KernelContext & ctx, ggml_tensor * dst);

// dst is tiled with src0.
bool repeat_supports(const ggml_tensor * dst);
ggml_status repeat_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status repeat_reference(const KernelContext & ctx, ggml_tensor * dst);

// PAD adds (or, with negative counts, cuts) elements on both sides of each dimension: zeros, or with
// `circular` the tensor continued periodically. ROLL shifts cyclically.
bool pad_supports(const ggml_tensor * dst);
bool roll_supports(const ggml_tensor * dst);
ggml_status pad_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status pad_reference(const KernelContext & ctx, ggml_tensor * dst);

// Mirrors rows at both ends, without repeating the end elements.
bool pad_reflect_supports(const ggml_tensor * dst);
ggml_status pad_reflect_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status pad_reflect_reference(const KernelContext & ctx, ggml_tensor * dst);

// WIN_PART cuts dimensions 1 and 2 into w x w windows, one per index of dimension 3, padded with zeros;
// WIN_UNPART puts them together again.
bool win_part_supports(const ggml_tensor * dst);
ggml_status win_part_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status win_part_reference(const KernelContext & ctx, ggml_tensor * dst);
bool win_unpart_supports(const ggml_tensor * dst);
ggml_status win_unpart_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status win_unpart_reference(const KernelContext & ctx, ggml_tensor * dst);

// GET_REL_POS: dst row (k, q) is the embedding of the distance q - k: row (n_k - 1 - k) + q of src0.
// ADD_REL_POS: attention logits plus the embeddings of the column and row distances, (a + ph) + pw.
bool get_rel_pos_supports(const ggml_tensor * dst);
ggml_status get_rel_pos_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status get_rel_pos_reference(const KernelContext & ctx, ggml_tensor * dst);
bool add_rel_pos_supports(const ggml_tensor * dst);
ggml_status add_rel_pos_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status add_rel_pos_reference(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
