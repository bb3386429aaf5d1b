#include "backends/cpu/kernels/reduce/sum_row.h"

#include "backends/cpu/kernels/copy/row_convert.h"

#include <algorithm>

namespace ggml::cpu {

double sum_run(ggml_type type, const char * p, size_t stride, int64_t n) {
    if (type == GGML_TYPE_F32 && stride == sizeof(float))
        return sum_floats(reinterpret_cast<const float *>(p), n);
    constexpr int64_t kPiece = 1024;
    float piece[kPiece];
    const RowConvert to_float = row_converter(type, GGML_TYPE_F32);
    double sum = 0;
    for (int64_t i = 0; i < n; i += kPiece) {
        const int64_t m = std::min(kPiece, n - i);
        to_float(p + size_t(i) * stride, stride, reinterpret_cast<char *>(piece), sizeof(float), m);
        sum += sum_floats(piece, m);
    }
    return sum;
}

} // namespace ggml::cpu
