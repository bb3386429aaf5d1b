// For the tests of attention operators: softmax(scale * q.k) v in double, and how far something is from it.
#pragma once

#include "ops/common/test_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace sd::test {

// Element of an F32 or F16 tensor with host storage.
inline double value_at(const ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    const char * p = static_cast<const char *>(t->data) + size_t(i0) * t->nb[0] + size_t(i1) * t->nb[1] +
                     size_t(i2) * t->nb[2] + size_t(i3) * t->nb[3];
    if (t->type == GGML_TYPE_F16) {
        ggml_fp16_t half;
        std::memcpy(&half, p, sizeof(half));
        return double(ggml_fp16_to_fp32(half));
    }
    float value;
    std::memcpy(&value, p, sizeof(value));
    return double(value);
}

// Normally distributed; contiguous, F32 or F16.
inline ggml_tensor * normal(Inputs & in, Sizes ne, float sigma = 1.0f, ggml_type type = GGML_TYPE_F32) {
    ggml_tensor * t = in.tensor(type, ne);
    std::normal_distribution<float> values(0.0f, sigma);
    for (int64_t i = 0; i < ggml_nelements(t); ++i) {
        const float x = values(in.random());
        if (type == GGML_TYPE_F16) {
            static_cast<ggml_fp16_t *>(t->data)[i] = ggml_fp32_to_fp16(x);
        } else {
            static_cast<float *>(t->data)[i] = x;
        }
    }
    return t;
}

// Adds, to every token, a constant that is different for each element of a row. F32.
inline void add_offset(ggml_tensor * t, float size) {
    for (int64_t row = 0; row < ggml_nrows(t); ++row) {
        for (int64_t i = 0; i < t->ne[0]; ++i)
            at(t, i, row % t->ne[1], row / t->ne[1] % t->ne[2], row / t->ne[1] / t->ne[2]) +=
                size * std::sin(float(i));
    }
}

// Weighted values for one query: weights are exp(logit) * count, values stand for `count` tokens together.
struct Softmax {
    double scale;
    std::vector<double> logits, counts;
    std::vector<std::vector<double>> values;

    void add(double logit, double count, std::vector<double> value) {
        logits.push_back(logit * scale);
        counts.push_back(count);
        values.push_back(std::move(value));
    }
    std::vector<double> result() const {
        const double max = *std::max_element(logits.begin(), logits.end());
        std::vector<double> sums(values.front().size());
        double total = 0.0;
        for (size_t j = 0; j < logits.size(); ++j) {
            const double p = std::exp(logits[j] - max);
            total += p * counts[j];
            for (size_t i = 0; i < sums.size(); ++i) sums[i] += p * values[j][i];
        }
        for (double & s : sums) s /= total;
        return sums;
    }
};

inline std::vector<double> row_of(const ggml_tensor * t, int64_t token, int64_t head, int64_t batch) {
    std::vector<double> row;
    for (int64_t i = 0; i < t->ne[0]; ++i) row.push_back(value_at(t, i, token, head, batch));
    return row;
}
inline double dot_of(const std::vector<double> & a, const std::vector<double> & b) {
    double sum = 0.0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

// In the order of the operators' result, [head, heads, tokens, batch].
inline std::vector<double> exact_attention(const ggml_tensor * q, const ggml_tensor * k,
                                           const ggml_tensor * v, double scale) {
    std::vector<double> all;
    for (int64_t batch = 0; batch < q->ne[3]; ++batch) {
        for (int64_t token = 0; token < q->ne[1]; ++token) {
            for (int64_t head = 0; head < q->ne[2]; ++head) {
                const int64_t shared = head / (q->ne[2] / k->ne[2]);
                const std::vector<double> query = row_of(q, token, head, batch);
                Softmax softmax{scale, {}, {}, {}};
                for (int64_t key = 0; key < k->ne[1]; ++key) {
                    softmax.add(dot_of(query, row_of(k, key, shared, batch)), 1.0,
                                row_of(v, key, shared, batch));
                }
                for (const double x : softmax.result()) all.push_back(x);
            }
        }
    }
    return all;
}

// Root of the mean squares of the differences, relative to that of the expected values.
inline double relative_error(const std::vector<float> & actual, const std::vector<double> & expected) {
    if (actual.size() != expected.size() || actual.empty()) return std::nan("");
    double error = 0.0, norm = 0.0;
    for (size_t i = 0; i < actual.size(); ++i) {
        error += (double(actual[i]) - expected[i]) * (double(actual[i]) - expected[i]);
        norm += expected[i] * expected[i];
    }
    return std::sqrt(error / norm);
}

} // namespace sd::test
