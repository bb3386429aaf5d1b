// A FLASH_ATTN_EXT node, decoded: sizes, how heads map onto each other, and where rows lie. Shared by the
// reference and the kernels, so both read the node in the same way. Reads metadata; returns addresses.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace ggml::cpu {

struct AttentionShape {
    const ggml_tensor *q, *k, *v;
    const ggml_tensor * mask;  // null: every key is visible
    const ggml_tensor * sinks; // null: no sink
    ggml_tensor * dst;

    int64_t d, dv; // elements of a key and of a value
    int64_t n_q, n_kv, n_head, n_batch;
    // Consecutive heads that read the same K head and the same V head.
    int64_t group;
    float scale;   // applied to q.k, already divided by softcap when there is one
    float softcap; // 0: none
    float max_bias;

    explicit AttentionShape(ggml_tensor * node);

    const char * k_head(int64_t head, int64_t batch) const;
    const char * v_head(int64_t head, int64_t batch) const;
    const float * q_row(int64_t i, int64_t head, int64_t batch) const;
    const uint16_t * mask_row(int64_t i, int64_t head, int64_t batch) const; // null without a mask
    float * out_row(int64_t i, int64_t head, int64_t batch) const;

    // ALiBi: what the mask of this head is multiplied with (1 without max_bias).
    float slope(int64_t head) const;
    float sink(int64_t head) const { return static_cast<const float *>(sinks->data)[head]; }
};

} // namespace ggml::cpu
