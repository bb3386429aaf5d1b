// The specification of sd.linear_i8.v1, one product at a time.
#include "kernels/cpu/rotate_quantize.h"
#include "ops/linear_i8/schema.h"

#include <new>
#include <vector>

namespace sd {
namespace {

int64_t dot(const int8_t * x, const int8_t * w, int64_t k) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += int64_t(x[i]) * w[i];
    return sum;
}

const float * values_of(const ggml_tensor * t) {
    return t != nullptr ? static_cast<const float *>(t->data) : nullptr;
}

void compute(ggml_tensor * node) {
    const LinearI8Inputs in = LinearI8Inputs::of(node);
    const LinearI8Rows rows(node);
    const int64_t k = rows.k, n = node->ne[0];
    const auto * weight = static_cast<const int8_t *>(in.weight->data);
    const float *weight_scale = values_of(in.weight_scale), *bias = values_of(in.bias);
    std::vector<int8_t> quantized(static_cast<size_t>(k));
    std::vector<float> scratch(static_cast<size_t>(k));
    for (int64_t row = 0; row < rows.n; ++row) {
        const int8_t * x = quantized.data();
        float x_scale = 1.0f;
        if (rows.kind == LinearI8Input::floats) {
            rotate_quantize_scalar(
                {rows.floats(row), k, rows.group, quantized.data(), &x_scale, scratch.data()});
        } else {
            x = rows.codes(row);
            x_scale = rows.scale(row);
        }
        float * y = static_cast<float *>(node->data) + row * n;
        for (int64_t i = 0; i < n; ++i) {
            y[i] = float(dot(x, weight + i * k, k));
            y[i] *= x_scale;
            if (weight_scale != nullptr) y[i] *= weight_scale[i];
            if (bias != nullptr) y[i] += bias[i];
        }
    }
}

} // namespace

ggml_status linear_i8_reference(ggml_tensor * node, void *) {
    try {
        compute(node);
    } catch (const std::bad_alloc &) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace sd
