#include "backends/cpu/kernels/attention/reference.h"

#include "backends/cpu/kernels/attention/shape.h"
#include "runtime/base/half.h"
#include "runtime/base/math.h"
#include "runtime/tensor/types.h"

#include <cmath>

namespace ggml::cpu {
namespace {

// K or V row as floats: where it lies, or converted into `row`.
const float * row_as_float(const ggml_tensor * t, const char * data, float * row) {
    if (t->type == GGML_TYPE_F32) return reinterpret_cast<const float *>(data);
    type_info(t->type).to_float(data, row, t->ne[0]);
    return row;
}

struct Workspace {
    double * out;
    float * row;
};

// softmax(softcap(scale * q.K) + slope * mask, sink) * V for one query. A key whose mask is -inf is not read
// at all; without any key the result is 0.
void attend(const AttentionShape & s, int64_t i, int64_t head, int64_t batch, const Workspace & ws) {
    const float * q = s.q_row(i, head, batch);
    const uint16_t * mask = s.mask_row(i, head, batch);
    const float slope = s.slope(head);
    double max = -INFINITY, sum = 0;
    for (int64_t e = 0; e < s.dv; ++e) ws.out[e] = 0;

    for (int64_t j = 0; j < s.n_kv; ++j) {
        const float bias = mask != nullptr ? slope * half_to_float(mask[j]) : 0.0f;
        if (bias == -INFINITY) continue;
        const float * key = row_as_float(s.k, s.k_head(head, batch) + size_t(j) * s.k->nb[1], ws.row);
        double score = 0;
        for (int64_t e = 0; e < s.d; ++e) score += double(q[e]) * double(key[e]);
        score *= double(s.scale);
        if (s.softcap != 0.0f) score = double(s.softcap) * std::tanh(score);
        score += double(bias);

        // Online softmax: what was summed so far is rescaled whenever the maximum grows.
        if (score > max) {
            const double shrink = std::exp(max - score);
            for (int64_t e = 0; e < s.dv; ++e) ws.out[e] *= shrink;
            sum *= shrink;
            max = score;
        }
        const double weight = score == -INFINITY ? 0.0 : std::exp(score - max);
        const float * value = row_as_float(s.v, s.v_head(head, batch) + size_t(j) * s.v->nb[1], ws.row);
        for (int64_t e = 0; e < s.dv; ++e) ws.out[e] += weight * double(value[e]);
        sum += weight;
    }

    double shrink = 1;
    if (s.sinks != nullptr && s.sink(head) != -INFINITY) {
        // A sink takes part in the normalization and has no value.
        const double sink = double(s.sink(head));
        if (sink > max) shrink = std::exp(max - sink);
        sum = sum * shrink + (sink > max ? 1.0 : std::exp(sink - max));
    }
    float * out = s.out_row(i, head, batch);
    for (int64_t e = 0; e < s.dv; ++e) out[e] = sum == 0 ? 0.0f : float(ws.out[e] * shrink / sum);
}

} // namespace

size_t flash_attn_reference_scratch(const ggml_tensor * dst, int) {
    const int64_t d = dst->src[1]->ne[0], dv = dst->src[2]->ne[0];
    return saturating_add(saturating_mul(dv, sizeof(double)), saturating_mul(d > dv ? d : dv, sizeof(float)));
}

ggml_status flash_attn_reference(const KernelContext & ctx, ggml_tensor * dst) {
    const AttentionShape s(dst);
    auto * out = reinterpret_cast<double *>(ctx.scratch.data());
    const Workspace ws{out, reinterpret_cast<float *>(out + s.dv)};
    for (int64_t batch = 0; batch < s.n_batch; ++batch) {
        for (int64_t head = 0; head < s.n_head; ++head) {
            for (int64_t i = 0; i < s.n_q; ++i) attend(s, i, head, batch, ws);
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
