#include "ops/sage_attn/reference.h"

#include "ops/common/attrs.h"
#include "ops/common/float_rounding.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

namespace sd {
namespace {

constexpr float kLog2e = 1.44269504f; // probabilities are powers of two, as on devices

SageRows rows_of_head(const ggml_tensor * t, int64_t head, int64_t batch) {
    SageRows rows(t->ne[0], t->ne[1]);
    for (int64_t token = 0; token < t->ne[1]; ++token) {
        const char * p = static_cast<const char *>(t->data) + size_t(token) * t->nb[1] +
                         size_t(head) * t->nb[2] + size_t(batch) * t->nb[3];
        if (t->type == GGML_TYPE_F16) {
            ggml_fp16_to_fp32_row(reinterpret_cast<const ggml_fp16_t *>(p), rows.row(token), t->ne[0]);
        } else {
            std::memcpy(rows.row(token), p, size_t(t->ne[0]) * sizeof(float));
        }
    }
    return rows;
}

// One head of keys and values, as all query heads that share it read them.
struct Memory {
    SageRows smooth;
    SageQuantizedValues values;
    SageCodes keys;
    bool finite; // all keys are

    Memory(const SageAttnInputs & in, int64_t head, int64_t batch, const SageRecipe & recipe)
        : smooth(rows_of_head(in.k, head, batch)),
          values(sage_quantize_values(rows_of_head(in.v, head, batch), recipe.values)) {
        if (recipe.smooth_keys) sage_subtract(smooth, 0, smooth.tokens, sage_mean(smooth, 0, smooth.tokens));
        keys = sage_quantize_keys(smooth, recipe.scales);
        finite = std::find(keys.finite.begin(), keys.finite.end(), false) == keys.finite.end();
    }
};

// The online softmax of one query row over blocks of keys.
class Row {
  public:
    Row(const Memory & memory, SageValues how)
        : memory_(memory), how_(how), sums_(static_cast<size_t>(memory.values.rows.size)),
          part_(sums_.size()) {}

    // logits: base 2, of the keys from `first` on.
    void add_block(int64_t first, const std::vector<float> & logits) {
        const float max = std::max(max_, *std::max_element(logits.begin(), logits.end()));
        const float shrink = std::exp2(max_ - max);
        max_ = max;
        total_ *= shrink;
        for (float & s : sums_) s *= shrink;
        std::fill(part_.begin(), part_.end(), 0.0f);
        for (size_t j = 0; j < logits.size(); ++j) {
            const float * value = memory_.values.rows.row(first + int64_t(j));
            const float p = probability(logits[j]);
            for (size_t i = 0; i < part_.size(); ++i) part_[i] += p * value[i];
            const bool full = (j + 1) % kSageF16Keys == 0 || j + 1 == logits.size();
            if (how_ == SageValues::fp8_f16 && full) round_part();
        }
        for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += part_[i];
    }

    void write(float * y) const {
        const float p_range = how_ == SageValues::f16 ? 1.0f : kMaxE4m3;
        for (size_t i = 0; i < sums_.size(); ++i)
            y[i] = sums_[i] * memory_.values.scale[i] / (p_range * total_);
    }

  private:
    // As the second product reads it. The denominator gets the unrounded one with E4M3 and the rounded one
    // with F16, where devices sum with the same instructions.
    float probability(float logit) {
        const float p = std::exp2(logit - max_);
        const float rounded = how_ == SageValues::f16 ? as_f16(p) : as_e4m3(p * kMaxE4m3);
        total_ += how_ == SageValues::f16 ? rounded : p;
        return rounded;
    }
    // Each 32 keys are one instruction, whose sums are exact inside and rounded into the F16 accumulator.
    void round_part() {
        for (float & s : part_) s = as_f16(s);
    }

    const Memory & memory_;
    SageValues how_;
    float max_ = -std::numeric_limits<float>::infinity(), total_ = 0.0f;
    std::vector<float> sums_, part_;
};

float dot(const int8_t * a, const int8_t * b, int64_t n) {
    int32_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return float(sum); // exact: below 2^24 for the sizes the operator takes
}

// Of one query head.
struct Queries {
    SageRows rows;
    SageCodes codes;
    std::vector<std::vector<float>> means; // of each block; empty when not smoothed

    Queries(const SageAttnInputs & in, int64_t head, int64_t batch, const SageRecipe & recipe)
        : rows(rows_of_head(in.q, head, batch)) {
        for (int64_t first = 0; recipe.smooth_queries && first < rows.tokens; first += kSageQueryBlock) {
            const int64_t last = std::min(first + kSageQueryBlock, rows.tokens);
            means.push_back(sage_mean(rows, first, last));
            sage_subtract(rows, first, last, means.back());
        }
        codes = sage_quantize_queries(rows, recipe.scales);
    }

    // What smoothing took from the product of query `token` and a key.
    float taken(int64_t token, const float * key) const {
        if (means.empty()) return 0.0f;
        const std::vector<float> & mean = means[static_cast<size_t>(token / kSageQueryBlock)];
        double sum = 0.0;
        for (size_t i = 0; i < mean.size(); ++i) sum += double(mean[i]) * double(key[i]);
        return float(sum);
    }
};

void attend(const Queries & q, int64_t token, const Memory & memory, SageValues how, float scale, float * y) {
    const int64_t size = q.rows.size, n_keys = memory.smooth.tokens;
    if (!q.codes.finite[static_cast<size_t>(token)] || !memory.finite) {
        std::fill(y, y + size, std::numeric_limits<float>::quiet_NaN());
        return;
    }
    Row row(memory, how);
    std::vector<float> logits;
    for (int64_t first = 0; first < n_keys; first += kSageKeyBlock) {
        logits.clear();
        for (int64_t key = first; key < std::min(first + kSageKeyBlock, n_keys); ++key) {
            const float product =
                dot(q.codes.row(token), memory.keys.row(key), size) *
                (q.codes.scale[static_cast<size_t>(token)] * memory.keys.scale[static_cast<size_t>(key)]);
            logits.push_back((product + q.taken(token, memory.smooth.row(key))) * (scale * kLog2e));
        }
        row.add_block(first, logits);
    }
    row.write(y);
}

void compute(ggml_tensor * node, const SageRecipe & recipe) {
    const SageAttnInputs in = SageAttnInputs::of(node);
    const auto attrs = attrs_of<SageAttnAttrs>(node);
    auto * y = static_cast<float *>(node->data);
    for (int64_t batch = 0; batch < in.q->ne[3]; ++batch) {
        for (int64_t head = 0; head < in.q->ne[2]; ++head) {
            const Memory memory(in, head / in.group(), batch, recipe);
            const Queries q(in, head, batch, recipe);
            for (int64_t token = 0; token < q.rows.tokens; ++token) {
                const int64_t row = (batch * node->ne[2] + token) * node->ne[1] + head;
                attend(q, token, memory, recipe.values, attrs.scale, y + row * node->ne[0]);
            }
        }
    }
}

} // namespace

SageRecipe sage_recipe(int mode) {
    switch (mode) {
    case GGML_SAGE_ATTN_2: return {SageScales::per_thread, SageValues::fp8};
    case GGML_SAGE_ATTN_2_PLUS_PLUS: return {SageScales::per_thread, SageValues::fp8_f16};
    default: return {SageScales::per_warp, SageValues::f16};
    }
}

ggml_status sage_attn_compute(ggml_tensor * node, const SageRecipe & recipe) {
    try {
        compute(node, recipe);
    } catch (const std::bad_alloc &) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status sage_attn_reference(ggml_tensor * node, void *) {
    return sage_attn_compute(node, sage_recipe(attrs_of<SageAttnAttrs>(node).mode));
}

} // namespace sd
