// ggml_get_type_traits_cpu: row codecs and dot products per type, as programs that test quantization ask for
// them. These dots are exact references; mul_mat does not use them (its kernels are in kernels/matmul).
#include "ggml-cpu.h"
#include "runtime/tensor/types.h"

#include <array>

namespace ggml::cpu {
namespace {

// Sum over dequantized blocks, in index order, in double: independent of how a kernel packs its integers.
template <ggml_type X, ggml_type Y>
void vec_dot(int n, float * s, size_t, const void * x, size_t, const void * y, size_t, int) {
    constexpr int kStep = 256; // a multiple of every block size
    const TypeInfo &tx = type_info(X), &ty = type_info(Y);
    const auto *px = static_cast<const char *>(x), *py = static_cast<const char *>(y);
    float a[kStep], b[kStep];
    double sum = 0;
    for (int i = 0; i < n; i += kStep) {
        const int count = n - i < kStep ? n - i : kStep;
        tx.to_float(px + size_t(i) / size_t(tx.block) * tx.bytes, a, count);
        ty.to_float(py + size_t(i) / size_t(ty.block) * ty.bytes, b, count);
        for (int j = 0; j < count; ++j) sum += double(a[j]) * double(b[j]);
    }
    *s = float(sum);
}

// The type activations are brought to before a dot product with weights of type X.
constexpr ggml_type dot_type(ggml_type x) {
    switch (x) {
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16: return x;
    case GGML_TYPE_Q4_0:
    case GGML_TYPE_Q5_0:
    case GGML_TYPE_Q8_0: return GGML_TYPE_Q8_0;
    case GGML_TYPE_Q4_1:
    case GGML_TYPE_Q5_1:
    case GGML_TYPE_Q8_1: return GGML_TYPE_Q8_1;
    case GGML_TYPE_Q2_K:
    case GGML_TYPE_Q3_K:
    case GGML_TYPE_Q4_K:
    case GGML_TYPE_Q5_K:
    case GGML_TYPE_Q6_K:
    case GGML_TYPE_Q8_K: return GGML_TYPE_Q8_K;
    default: return GGML_TYPE_F32;
    }
}

template <ggml_type X>
ggml_type_traits_cpu traits() {
    return {type_info(X).from_float, vec_dot<X, dot_type(X)>, dot_type(X), 1};
}

using Table = std::array<ggml_type_traits_cpu, GGML_TYPE_COUNT>;

Table make_table() {
    Table table{};
    table[GGML_TYPE_F32] = traits<GGML_TYPE_F32>();
    table[GGML_TYPE_F16] = traits<GGML_TYPE_F16>();
    table[GGML_TYPE_BF16] = traits<GGML_TYPE_BF16>();
    table[GGML_TYPE_Q4_0] = traits<GGML_TYPE_Q4_0>();
    table[GGML_TYPE_Q4_1] = traits<GGML_TYPE_Q4_1>();
    table[GGML_TYPE_Q5_0] = traits<GGML_TYPE_Q5_0>();
    table[GGML_TYPE_Q5_1] = traits<GGML_TYPE_Q5_1>();
    table[GGML_TYPE_Q8_0] = traits<GGML_TYPE_Q8_0>();
    table[GGML_TYPE_Q2_K] = traits<GGML_TYPE_Q2_K>();
    table[GGML_TYPE_Q3_K] = traits<GGML_TYPE_Q3_K>();
    table[GGML_TYPE_Q4_K] = traits<GGML_TYPE_Q4_K>();
    table[GGML_TYPE_Q5_K] = traits<GGML_TYPE_Q5_K>();
    table[GGML_TYPE_Q6_K] = traits<GGML_TYPE_Q6_K>();
    table[GGML_TYPE_Q8_1] = traits<GGML_TYPE_Q8_1>();
    table[GGML_TYPE_Q8_K] = traits<GGML_TYPE_Q8_K>();
    return table;
}

} // namespace
} // namespace ggml::cpu

extern "C" const ggml_type_traits_cpu * ggml_get_type_traits_cpu(enum ggml_type type) {
    static const ggml::cpu::Table table = ggml::cpu::make_table();
    GGML_ASSERT(type >= 0 && type < GGML_TYPE_COUNT);
    return &table[type];
}
