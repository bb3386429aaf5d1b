// IM2COL and IM2COL_3D. Image rows are converted to the result's type once, with their borders as zeros, in
// blocks of channels that stay in the cache; what is left is copying a few adjacent elements per kernel row.
#include "backends/cpu/convert.h"
#include "backends/cpu/kernels/conv/im2col_shape.h"
#include "backends/cpu/kernels/conv/rooms.h"
#include "runtime/base/half.h"
#include "runtime/base/math.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu::conv {
namespace {

// Half a second-level cache of prepared rows.
constexpr size_t kBlockBytes = 256 * 1024;

// Outputs along the width that are made from one set of prepared rows: also what threads share out when there
// are few rows (1-dimensional signals).
constexpr int64_t kSegment = 256;

struct Im2colPlan {
    int64_t segment, n_segments;
    int64_t row_width;      // elements of a prepared row, borders included
    int64_t channels;       // channels a block
    int64_t staging_floats; // a part of an image row as floats

    explicit Im2colPlan(const Im2colShape & s) {
        segment = std::min(kSegment, s.out[0]);
        n_segments = ceil_div(s.out[0], kSegment);
        row_width = (segment - 1) * s.stride[0] + (s.kernel[0] - 1) * s.dilation[0] + 1;
        const size_t per_channel = row_bytes(s, 1);
        channels =
            std::clamp<int64_t>(int64_t(kBlockBytes / std::max<size_t>(1, per_channel)), 1, s.channels);
        staging_floats = row_width;
    }
    // Prepared rows of so many channels.
    size_t row_bytes(const Im2colShape & s, int64_t n_channels) const {
        return saturating_mul(row_width, s.kernel[1], s.kernel[2], n_channels, ggml_type_size(s.dst->type));
    }
    size_t thread_bytes(const Im2colShape & s) const {
        return saturating_add(saturating_align_up(row_bytes(s, channels), 64),
                              saturating_align_up(saturating_mul(staging_floats, sizeof(float)), 64));
    }
};

// n image elements, nb apart, to type To.
void convert_row(const Im2colShape & s, const char * src, int64_t n, float * staging, float * out) {
    (void)staging;
    if (s.image->type == GGML_TYPE_F32 && s.nb[0] == sizeof(float)) {
        std::memcpy(out, src, size_t(n) * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < n; ++i, src += s.nb[0]) {
        if (s.image->type == GGML_TYPE_F32) {
            std::memcpy(out + i, src, sizeof(float));
        } else {
            uint16_t half;
            std::memcpy(&half, src, sizeof(half));
            out[i] = half_to_float(half);
        }
    }
}

void convert_row(const Im2colShape & s, const char * src, int64_t n, float * staging, uint16_t * out) {
    if (s.image->type == GGML_TYPE_F16) {
        for (int64_t i = 0; i < n; ++i, src += s.nb[0]) std::memcpy(out + i, src, sizeof(uint16_t));
        return;
    }
    if (s.nb[0] != sizeof(float)) {
        convert_row(s, src, n, staging, staging);
        src = reinterpret_cast<const char *>(staging);
    }
    float_to_half_row(reinterpret_cast<const float *>(src), out, n);
}

// What one thread works on: outputs [x0, x0 + width) of the output row (z, y) of image n.
template <class To>
struct RowJob {
    const Im2colShape & s;
    const Im2colPlan & plan;
    int64_t n, z, y, x0, width;
    To * rows; // [channel][kernel depth][kernel height][row_width]
    float * staging;

    void prepare(int64_t c0, int64_t n_channels) const {
        const int64_t origin = x0 * s.stride[0] - s.pad[0]; // image column of the first prepared element
        const int64_t begin = std::clamp<int64_t>(-origin, 0, plan.row_width);
        const int64_t end = std::clamp<int64_t>(s.in[0] - origin, begin, plan.row_width);
        To * row = rows;
        for (int64_t c = c0; c < c0 + n_channels; ++c) {
            const char * plane =
                static_cast<const char *>(s.image->data) + size_t(n) * s.nb_image + size_t(c) * s.nb_channel;
            for (int64_t kz = 0; kz < s.kernel[2]; ++kz) {
                const int64_t iz = z * s.stride[2] + kz * s.dilation[2] - s.pad[2];
                for (int64_t ky = 0; ky < s.kernel[1]; ++ky, row += plan.row_width) {
                    const int64_t iy = y * s.stride[1] + ky * s.dilation[1] - s.pad[1];
                    if (iz < 0 || iz >= s.in[2] || iy < 0 || iy >= s.in[1]) {
                        std::fill_n(row, plan.row_width, To(0));
                        continue;
                    }
                    std::fill(row, row + begin, To(0));
                    const char * src = plane + size_t(iz) * s.nb[2] + size_t(iy) * s.nb[1];
                    if (begin < end) {
                        convert_row(s, src + size_t(origin + begin) * s.nb[0], end - begin, staging,
                                    row + begin);
                    }
                    std::fill(row + end, row + plan.row_width, To(0));
                }
            }
        }
    }

    // KW: the kernel width when it is known while compiling and elements are adjacent; 0 for any.
    template <int KW>
    void copy(int64_t c0, int64_t n_channels) const {
        const int64_t column = s.channels * s.taps();
        const int64_t n_rows = n_channels * s.kernel[1] * s.kernel[2];
        To * dst = static_cast<To *>(s.dst->data) +
                   (((n * s.out[2] + z) * s.out[1] + y) * s.out[0] + x0) * column + c0 * s.taps();
        for (int64_t x = 0; x < width; ++x, dst += column) {
            const To * src = rows + x * s.stride[0];
            To * out = dst;
            for (int64_t r = 0; r < n_rows; ++r, src += plan.row_width) {
                if constexpr (KW > 0) {
                    for (int k = 0; k < KW; ++k) out[k] = src[k];
                    out += KW;
                } else {
                    for (int64_t k = 0; k < s.kernel[0]; ++k) *out++ = src[k * s.dilation[0]];
                }
            }
        }
    }

    void run() const {
        const int64_t adjacent = s.dilation[0] == 1 || s.kernel[0] == 1 ? s.kernel[0] : 0;
        for (int64_t c = 0; c < s.channels; c += plan.channels) {
            const int64_t count = std::min(plan.channels, s.channels - c);
            prepare(c, count);
            if (adjacent == 1)
                copy<1>(c, count);
            else if (adjacent == 3)
                copy<3>(c, count);
            else
                copy<0>(c, count);
        }
    }
};

template <class To>
ggml_status run_rows(const KernelContext & ctx, const Im2colShape & s) {
    const Im2colPlan plan(s);
    const size_t row_bytes = align_up(plan.row_bytes(s, plan.channels), 64);
    const int64_t jobs = s.n * s.out[2] * s.out[1] * plan.n_segments;
    const int64_t work = plan.segment * s.channels * s.taps();
    const int64_t grain = 1 + kParallelGrain / (work + 1);
    const int64_t tasks = std::min<int64_t>(ceil_div(jobs, grain), ctx.team.n_threads());
    ctx.team.run(int(tasks), [&](int ith, int nth) {
        std::byte * scratch = ctx.scratch.data() + size_t(ith) * plan.thread_bytes(s);
        for (int64_t i = jobs * ith / nth; i < jobs * (ith + 1) / nth; ++i) {
            const int64_t row = i / plan.n_segments, x0 = i % plan.n_segments * kSegment;
            const RowJob<To> job{s,
                                 plan,
                                 row / s.out[1] / s.out[2],
                                 row / s.out[1] % s.out[2],
                                 row % s.out[1],
                                 x0,
                                 std::min(kSegment, s.out[0] - x0),
                                 reinterpret_cast<To *>(scratch),
                                 reinterpret_cast<float *>(scratch + row_bytes)};
            job.run();
        }
    });
    return GGML_STATUS_SUCCESS;
}

} // namespace

ggml_status im2col(const KernelContext & ctx, ggml_tensor * dst) {
    const Im2colShape s(dst);
    return dst->type == GGML_TYPE_F32 ? run_rows<float>(ctx, s) : run_rows<uint16_t>(ctx, s);
}

size_t im2col_scratch(const ggml_tensor * dst, int n_threads) {
    const Im2colShape s(const_cast<ggml_tensor *>(dst));
    return saturating_mul(n_threads, Im2colPlan(s).thread_bytes(s));
}

bool im2col_supports(const ggml_tensor * dst) {
    const ggml_tensor * image = dst->src[1];
    if (image->type != GGML_TYPE_F32 && image->type != GGML_TYPE_F16) return false;
    if (dst->type != GGML_TYPE_F32 && dst->type != GGML_TYPE_F16) return false;
    if (!ggml_is_contiguous(dst)) return false;
    if (ggml_is_empty(dst)) return true;
    const Im2colShape s(const_cast<ggml_tensor *>(dst));
    // Strides a row conversion can address.
    const size_t unit = ggml_type_size(image->type);
    if (s.nb[0] % unit != 0 || s.nb[1] % unit != 0 || s.nb[2] % unit != 0 || s.nb_channel % unit != 0)
        return false;
    for (int i = 0; i < 3; ++i) {
        if (s.stride[i] < 1 || s.dilation[i] < 1 || s.pad[i] < 0) return false;
    }
    return ggml_nelements(dst) == s.n * s.channels * s.taps() * s.out[0] * s.out[1] * s.out[2];
}

} // namespace ggml::cpu::conv
