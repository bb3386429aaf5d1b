#include "backends/cpu/kernels/attention/shape.h"

#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"

#include <cmath>
#include <numeric>

namespace ggml::cpu {

AttentionShape::AttentionShape(ggml_tensor * node)
    : q(node->src[0]), k(node->src[1]), v(node->src[2]), mask(node->src[3]), sinks(node->src[4]), dst(node),
      d(q->ne[0]), dv(v->ne[0]), n_q(q->ne[1]), n_kv(k->ne[1]), n_head(q->ne[2]), n_batch(q->ne[3]) {
    const auto params = get_params<FlashAttnParams>(node);
    softcap = params.logit_softcap;
    scale = softcap != 0.0f ? params.scale / softcap : params.scale;
    max_bias = params.max_bias;
    group = std::gcd(n_head / k->ne[2], n_head / v->ne[2]);
}

const char * AttentionShape::k_head(int64_t head, int64_t batch) const {
    return row_at<char>(k, row_offset(k, {0, head / (n_head / k->ne[2]), batch / (n_batch / k->ne[3])}));
}

const char * AttentionShape::v_head(int64_t head, int64_t batch) const {
    return row_at<char>(v, row_offset(v, {0, head / (n_head / v->ne[2]), batch / (n_batch / v->ne[3])}));
}

const float * AttentionShape::q_row(int64_t i, int64_t head, int64_t batch) const {
    return row_at<float>(q, row_offset(q, {i, head, batch}));
}

const uint16_t * AttentionShape::mask_row(int64_t i, int64_t head, int64_t batch) const {
    if (mask == nullptr) return nullptr;
    return row_at<uint16_t>(mask, row_offset(mask, {i, head % mask->ne[2], batch % mask->ne[3]}));
}

float * AttentionShape::out_row(int64_t i, int64_t head, int64_t batch) const {
    return row_at<float>(dst, row_offset(dst, {head, i, batch}));
}

// Press et al., "Train Short, Test Long": a geometric sequence over the heads, and between its terms a second
// one for the heads beyond the largest power of two.
float AttentionShape::slope(int64_t head) const {
    if (max_bias <= 0.0f) return 1.0f;
    int64_t power = 1;
    while (power * 2 <= n_head) power *= 2;
    const float m0 = std::pow(2.0f, -max_bias / float(power));
    const float m1 = std::pow(2.0f, -max_bias / 2.0f / float(power));
    return head < power ? std::pow(m0, float(head + 1)) : std::pow(m1, float(2 * (head - power) + 1));
}

} // namespace ggml::cpu
