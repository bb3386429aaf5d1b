#include "tools/op-bench/fill.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace op_bench {
namespace {

// Whole blocks of every type. Quantizing a whole layer would take longer than measuring it.
constexpr int64_t kPeriod = 1 << 16;

std::vector<float> uniform_floats(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    uint32_t state = 1;
    for (float & value : values) {
        state = state * 1664525u + 1013904223u;
        value = float(int32_t(state)) * 0x1p-31f;
    }
    return values;
}

void repeat(char * data, size_t period, size_t size) {
    for (size_t begin = period; begin < size; begin += period)
        std::memcpy(data + begin, data, std::min(period, size - begin));
}

} // namespace

void fill_random(ggml_tensor * t) {
    const int64_t n = std::min<int64_t>(ggml_nelements(t), kPeriod);
    const size_t bytes = ggml_nbytes(t);
    const std::vector<float> values = uniform_floats(n);
    if (t->type == GGML_TYPE_I8) {
        for (int64_t i = 0; i < n; ++i)
            static_cast<int8_t *>(t->data)[i] = int8_t(std::max(-128.0f, values[size_t(i)] * 128));
    } else if (t->type == GGML_TYPE_F32) {
        std::memcpy(t->data, values.data(), size_t(n) * sizeof(float));
    } else if (t->type == GGML_TYPE_F16) {
        ggml_fp32_to_fp16_row(values.data(), static_cast<ggml_fp16_t *>(t->data), n);
    } else if (t->type == GGML_TYPE_BF16) {
        ggml_fp32_to_bf16_row(values.data(), static_cast<ggml_bf16_t *>(t->data), n);
    } else if (ggml_is_quantized(t->type)) {
        ggml_quantize_chunk(t->type, values.data(), t->data, 0, 1, n, nullptr);
    } else {
        std::memset(t->data, 0, bytes);
        return;
    }
    repeat(static_cast<char *>(t->data), size_t(n / ggml_blck_size(t->type)) * ggml_type_size(t->type),
           bytes);
}

} // namespace op_bench
