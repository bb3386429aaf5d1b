#include "backends/cpu/kernels/conv/layout.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/conv/layout_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"

#include "backends/cpu/isa/transpose-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::conv::HWY_NAMESPACE {

void transpose(const float * src, int64_t src_stride, int64_t rows, int64_t cols, float * dst,
               int64_t dst_stride) {
    cpu::HWY_NAMESPACE::transpose_matrix(src, src_stride, rows, cols, dst, dst_stride);
}

} // namespace ggml::cpu::conv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu::conv {
HWY_EXPORT(transpose);

namespace {
bool is_matrix(size_t nb_x, size_t nb_channel) {
    return nb_x == sizeof(float) && nb_channel % sizeof(float) == 0;
}
} // namespace

void row_to_channels_last(const char * src, size_t nb_x, size_t nb_channel, int64_t width, int64_t channels,
                          float * dst) {
    if (is_matrix(nb_x, nb_channel)) {
        HWY_DYNAMIC_DISPATCH(transpose)
        (reinterpret_cast<const float *>(src), int64_t(nb_channel / sizeof(float)), channels, width, dst,
         channels);
        return;
    }
    for (int64_t x = 0; x < width; ++x) {
        for (int64_t c = 0; c < channels; ++c) {
            std::memcpy(dst++, src + size_t(x) * nb_x + size_t(c) * nb_channel, sizeof(float));
        }
    }
}

void row_from_channels_last(const float * src, int64_t width, int64_t channels, char * dst, size_t nb_x,
                            size_t nb_channel) {
    if (is_matrix(nb_x, nb_channel)) {
        HWY_DYNAMIC_DISPATCH(transpose)
        (src, channels, width, channels, reinterpret_cast<float *>(dst), int64_t(nb_channel / sizeof(float)));
        return;
    }
    for (int64_t x = 0; x < width; ++x) {
        for (int64_t c = 0; c < channels; ++c) {
            std::memcpy(dst + size_t(x) * nb_x + size_t(c) * nb_channel, src++, sizeof(float));
        }
    }
}
} // namespace ggml::cpu::conv
#endif
