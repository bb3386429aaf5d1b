#include "backends/cpu/kernels/conv/depthwise.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/conv/depthwise_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::conv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr int64_t kLanes = int64_t(hn::MaxLanes(Tag()));
constexpr int kVectors = 4; // in flight: hides the latency of the multiply-add

// Kernel rows [begin, end) whose input row exists.
struct Taps {
    int64_t begin, end;
};
Taps valid_taps(int64_t origin, int64_t taps, int64_t dilation, int64_t size) {
    Taps t{0, taps};
    while (t.begin < t.end && origin + t.begin * dilation < 0) ++t.begin;
    while (t.begin < t.end && origin + (t.end - 1) * dilation >= size) --t.end;
    return t;
}

const float * src_row(const ConvShape & s, int64_t n, int64_t c, int64_t y) {
    return reinterpret_cast<const float *>(s.src.data + size_t(n) * s.src.nb_outer +
                                           size_t(c) * s.src.nb_channel + size_t(y) * s.src.nb[1]);
}

float one_output(const ConvShape & s, const float * kernel, int64_t n, int64_t c, int64_t x, int64_t y,
                 Taps rows) {
    const int64_t x0 = s.origin(0, x), y0 = s.origin(1, y), width = s.kernel.size[0];
    float sum = 0;
    for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
        const float * row = src_row(s, n, c, y0 + ky * s.dilation[1]);
        for (int64_t kx = 0; kx < width; ++kx) {
            const int64_t ix = x0 + kx * s.dilation[0];
            if (ix >= 0 && ix < s.src.size[0]) sum += kernel[ky * width + kx] * row[ix];
        }
    }
    return sum;
}

// NV vectors of outputs from x on, all of whose taps lie inside the row. Stride 1, or 2 with every other
// element.
template <int NV, bool kStride2>
void inner_outputs(const ConvShape & s, const float * kernel, int64_t n, int64_t c, int64_t x, int64_t y,
                   Taps rows, float * out) {
    const Tag tag;
    const int64_t x0 = s.origin(0, x), y0 = s.origin(1, y), width = s.kernel.size[0];
    V acc[NV];
    for (int v = 0; v < NV; ++v) acc[v] = hn::Zero(tag);
    for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
        const float * row = src_row(s, n, c, y0 + ky * s.dilation[1]) + x0;
        for (int64_t kx = 0; kx < width; ++kx) {
            const V weight = hn::Set(tag, kernel[ky * width + kx]);
            for (int v = 0; v < NV; ++v) {
                V value;
                if constexpr (kStride2) {
                    V odd;
                    hn::LoadInterleaved2(tag, row + kx * s.dilation[0] + 2 * v * kLanes, value, odd);
                } else {
                    value = hn::LoadU(tag, row + kx * s.dilation[0] + v * kLanes);
                }
                acc[v] = hn::MulAdd(weight, value, acc[v]);
            }
        }
    }
    for (int v = 0; v < NV; ++v) hn::StoreU(acc[v], tag, out + x + v * kLanes);
}

template <bool kStride2>
int64_t inner_row(const ConvShape & s, const float * kernel, int64_t n, int64_t c, int64_t y, Taps rows,
                  int64_t x, int64_t end, float * out) {
    for (; x + kVectors * kLanes <= end; x += kVectors * kLanes) {
        inner_outputs<kVectors, kStride2>(s, kernel, n, c, x, y, rows, out);
    }
    for (; x + kLanes <= end; x += kLanes) inner_outputs<1, kStride2>(s, kernel, n, c, x, y, rows, out);
    return x;
}

void row(const ConvShape & s, const float * kernel, int64_t n, int64_t c, int64_t y) {
    auto * out = reinterpret_cast<float *>(s.dst.data + size_t(n) * s.dst.nb_outer +
                                           size_t(c) * s.dst.nb_channel + size_t(y) * s.dst.nb[1]);
    const Taps rows = valid_taps(s.origin(1, y), s.kernel.size[1], s.dilation[1], s.src.size[1]);
    // Outputs [begin, end) read no border. With stride 2 a vector also loads the element after its last one.
    const int64_t stride = s.stride[0], width = s.dst.size[0];
    const int64_t begin = std::min(width, (s.pad[0] + stride - 1) / stride);
    const int64_t room = s.src.size[0] + s.pad[0] - s.extent(0) - (stride == 2 ? 1 : 0);
    const int64_t end = std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, begin, width);
    int64_t x = 0;
    for (; x < begin; ++x) out[x] = one_output(s, kernel, n, c, x, y, rows);
    if (stride == 1) x = inner_row<false>(s, kernel, n, c, y, rows, x, end, out);
    if (stride == 2) x = inner_row<true>(s, kernel, n, c, y, rows, x, end, out);
    for (; x < width; ++x) out[x] = one_output(s, kernel, n, c, x, y, rows);
}

// Outputs of NV vectors of channels at one position.
template <int NV>
void channel_outputs(const ConvShape & s, const float * kernel, const char * image, int64_t x, int64_t y,
                     int64_t c, float * out) {
    const Tag tag;
    const int64_t x0 = s.origin(0, x), y0 = s.origin(1, y), width = s.kernel.size[0];
    const Taps rows = valid_taps(y0, s.kernel.size[1], s.dilation[1], s.src.size[1]);
    const Taps columns = valid_taps(x0, width, s.dilation[0], s.src.size[0]);
    V acc[NV];
    for (int v = 0; v < NV; ++v) acc[v] = hn::Zero(tag);
    for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
        for (int64_t kx = columns.begin; kx < columns.end; ++kx) {
            const auto * at =
                reinterpret_cast<const float *>(image + size_t(y0 + ky * s.dilation[1]) * s.src.nb[1] +
                                                size_t(x0 + kx * s.dilation[0]) * s.src.nb[0]) +
                c;
            const float * weights = kernel + (ky * width + kx) * s.oc + c;
            for (int v = 0; v < NV; ++v) {
                acc[v] =
                    hn::MulAdd(hn::LoadU(tag, weights + v * kLanes), hn::LoadU(tag, at + v * kLanes), acc[v]);
            }
        }
    }
    for (int v = 0; v < NV; ++v) hn::StoreU(acc[v], tag, out + c + v * kLanes);
}

// The last channels, fewer than a vector.
float channel_output(const ConvShape & s, const float * kernel, const char * image, int64_t x, int64_t y,
                     int64_t c) {
    const int64_t x0 = s.origin(0, x), y0 = s.origin(1, y), width = s.kernel.size[0];
    const Taps rows = valid_taps(y0, s.kernel.size[1], s.dilation[1], s.src.size[1]);
    const Taps columns = valid_taps(x0, width, s.dilation[0], s.src.size[0]);
    float sum = 0;
    for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
        for (int64_t kx = columns.begin; kx < columns.end; ++kx) {
            const auto * at =
                reinterpret_cast<const float *>(image + size_t(y0 + ky * s.dilation[1]) * s.src.nb[1] +
                                                size_t(x0 + kx * s.dilation[0]) * s.src.nb[0]);
            sum += kernel[(ky * width + kx) * s.oc + c] * at[c];
        }
    }
    return sum;
}

void row_channels(const ConvShape & s, const float * kernel, int64_t n, int64_t y) {
    const char * image = s.src.data + size_t(n) * s.src.nb_outer;
    for (int64_t x = 0; x < s.dst.size[0]; ++x) {
        auto * out = reinterpret_cast<float *>(s.dst.data + size_t(n) * s.dst.nb_outer +
                                               size_t(y) * s.dst.nb[1] + size_t(x) * s.dst.nb[0]);
        int64_t c = 0;
        for (; c + kVectors * kLanes <= s.oc; c += kVectors * kLanes) {
            channel_outputs<kVectors>(s, kernel, image, x, y, c, out);
        }
        for (; c + kLanes <= s.oc; c += kLanes) channel_outputs<1>(s, kernel, image, x, y, c, out);
        for (; c < s.oc; ++c) out[c] = channel_output(s, kernel, image, x, y, c);
    }
}

} // namespace ggml::cpu::conv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu::conv {
HWY_EXPORT(row);
HWY_EXPORT(row_channels);

void depthwise_row(const ConvShape & s, const float * kernel, int64_t n, int64_t c, int64_t y) {
    HWY_DYNAMIC_DISPATCH(row)(s, kernel, n, c, y);
}
void depthwise_row_channels(const ConvShape & s, const float * kernel, int64_t n, int64_t y) {
    HWY_DYNAMIC_DISPATCH(row_channels)(s, kernel, n, y);
}
} // namespace ggml::cpu::conv
#endif
