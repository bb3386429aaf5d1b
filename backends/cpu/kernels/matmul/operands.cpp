#include "backends/cpu/kernels/matmul/operands.h"

#include "backends/cpu/convert.h"
#include "runtime/base/half.h"
#include "runtime/tensor/types.h"

#include <cstring>

namespace ggml::cpu::matmul {
namespace {

float read_one(ggml_type type, const char * p) {
    if (type == GGML_TYPE_F32) {
        float value;
        std::memcpy(&value, p, sizeof value);
        return value;
    }
    uint16_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return type == GGML_TYPE_F16 ? half_to_float(bits) : bf16_to_float(bits);
}

} // namespace

void read_floats(ggml_type type, size_t elem_stride, const char * row, int64_t first, int64_t n,
                 float * out) {
    const TypeInfo & info = type_info(type);
    if (info.quantized) {
        info.to_float(row + size_t(first / info.block) * info.bytes, out, n);
        return;
    }
    const char * p = row + size_t(first) * elem_stride;
    if (elem_stride != info.bytes) {
        for (int64_t i = 0; i < n; ++i) out[i] = read_one(type, p + size_t(i) * elem_stride);
    } else if (type == GGML_TYPE_F32) {
        std::memcpy(out, p, size_t(n) * sizeof(float));
    } else if (type == GGML_TYPE_F16) {
        half_to_float_row(reinterpret_cast<const uint16_t *>(p), out, n);
    } else {
        bf16_to_float_row(reinterpret_cast<const uint16_t *>(p), out, n);
    }
}

} // namespace ggml::cpu::matmul
