// Transposed convolution as a product, [output channel, tap] x [pixel], that is added into the output tile by
// tile. A thread owns whole output channels, so nothing is added to from two sides and the order of sums is
// fixed.
#include "backends/cpu/convert.h"
#include "backends/cpu/kernels/conv/rooms.h"
#include "backends/cpu/kernels/conv/shape.h"
#include "backends/cpu/kernels/conv/transpose_shape.h"
#include "backends/cpu/room.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ggml::cpu::conv {
namespace {

// Rows and columns of one product: it stays in the second-level cache until it is added.
constexpr int64_t kProductRows = 96;
constexpr int64_t kProductPixels = 512;

struct TransposePlan {
    int64_t channels, n_blocks; // output channels a block
    int64_t pixels;             // of a tile
    bool copy_src, copy_kernel; // an operand that is not dense floats gets a dense copy
    size_t kernel_bytes, src_bytes, thread_bytes;

    explicit TransposePlan(const TransposeShape & s) {
        channels = std::clamp<int64_t>(kProductRows / std::max<int64_t>(1, s.taps()), 1, s.oc);
        n_blocks = ceil_div(s.oc, channels);
        pixels = std::min(kProductPixels, s.pixels());
        copy_kernel = s.kernel->type != GGML_TYPE_F32 || !ggml_is_contiguous(s.kernel);
        copy_src = !ggml_is_contiguous(s.src);
        const auto floats = [](auto... sizes) {
            return saturating_align_up(saturating_mul(sizes..., sizeof(float)), 64);
        };
        kernel_bytes = copy_kernel ? floats(s.ic, s.oc, s.taps()) : 0;
        src_bytes = copy_src ? floats(s.n, s.ic, s.pixels()) : 0;
        thread_bytes = floats(channels, s.taps(), pixels);
    }
};

// [input channel][output channel][tap]
void dense_kernel(const TransposeShape & s, float * out) {
    const auto * data = static_cast<const char *>(s.kernel->data);
    for (int64_t i = 0; i < s.ic; ++i) {
        for (int64_t c = 0; c < s.oc; ++c) {
            for (int64_t ky = 0; ky < s.kernel_height; ++ky) {
                for (int64_t kx = 0; kx < s.kernel_width; ++kx) {
                    *out++ = kernel_element(s.kernel->type,
                                            data + size_t(i) * s.kernel_ic + size_t(c) * s.kernel_oc +
                                                size_t(ky) * s.kernel_row + size_t(kx) * s.kernel->nb[0]);
                }
            }
        }
    }
}

// [image][channel][pixel]
void dense_src(const TransposeShape & s, const Team & team, float * out) {
    const auto * data = static_cast<const char *>(s.src->data);
    team.parallel_for(s.n * s.ic, 1 + kParallelGrain / (s.pixels() + 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const char * plane = data + size_t(i / s.ic) * s.src_image + size_t(i % s.ic) * s.src_channel;
            float * to = out + i * s.pixels();
            for (int64_t p = 0; p < s.pixels(); ++p) {
                std::memcpy(to + p,
                            plane + size_t(p / s.width) * s.src_row + size_t(p % s.width) * s.src->nb[0],
                            sizeof(float));
            }
        }
    });
}

// Adds the products of one tap with pixels [first, first + count) to an output plane.
void add_tap(const TransposeShape & s, const float * product, int64_t first, int64_t count, int64_t ky,
             int64_t kx, char * plane) {
    while (count > 0) {
        const int64_t y = first / s.width, x = first % s.width, run = std::min(count, s.width - x);
        auto * row =
            reinterpret_cast<float *>(plane + size_t(y * s.stride_y + ky) * s.dst_row) + x * s.stride_x + kx;
        for (int64_t i = 0; i < run; ++i) row[i * s.stride_x] += product[i];
        product += run, first += run, count -= run;
    }
}

// Keeps oneDNN's product on the calling thread: blocks already are the parallel work.
class OneThread {
  public:
    OneThread() : outside_(omp_get_max_threads()) { omp_set_num_threads(1); }
    ~OneThread() { omp_set_num_threads(outside_); }
    OneThread(const OneThread &) = delete;
    OneThread & operator=(const OneThread &) = delete;

  private:
    int outside_;
};

// A block of output channels of one image.
bool run_block(const TransposeShape & s, const TransposePlan & plan, const float * kernel,
               const float * image, int64_t n, int64_t block, float * product) {
    const int64_t c0 = block * plan.channels, n_channels = std::min(plan.channels, s.oc - c0);
    const int64_t taps = s.taps(), rows = n_channels * taps;
    char * out = static_cast<char *>(s.dst->data) + size_t(n) * s.dst_image + size_t(c0) * s.dst_channel;
    for (int64_t c = 0; c < n_channels; ++c) {
        for (int64_t y = 0; y < s.out_height; ++y) {
            std::memset(out + size_t(c) * s.dst_channel + size_t(y) * s.dst_row, 0,
                        size_t(s.out_width) * sizeof(float));
        }
    }
    for (int64_t p = 0; p < s.pixels() && s.ic > 0; p += plan.pixels) {
        const int64_t count = std::min(plan.pixels, s.pixels() - p);
        if (dnnl_sgemm('T', 'N', rows, count, s.ic, 1.0f, kernel + c0 * taps, s.oc * taps, image + p,
                       s.pixels(), 0.0f, product, count) != dnnl_success) {
            return false;
        }
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t tap = r % taps;
            add_tap(s, product + r * count, p, count, tap / s.kernel_width, tap % s.kernel_width,
                    out + size_t(r / taps) * s.dst_channel);
        }
    }
    return true;
}

} // namespace

ggml_status conv_transpose(const KernelContext & ctx, ggml_tensor * dst) {
    const TransposeShape s(dst);
    const TransposePlan plan(s);
    const auto * kernel = static_cast<const float *>(s.kernel->data);
    const auto * src = static_cast<const float *>(s.src->data);
    std::byte * scratch = ctx.scratch.data();
    if (plan.copy_kernel) {
        auto * copy = reinterpret_cast<float *>(scratch);
        dense_kernel(s, copy);
        kernel = copy;
    }
    scratch += plan.kernel_bytes;
    if (plan.copy_src) {
        auto * copy = reinterpret_cast<float *>(scratch);
        dense_src(s, ctx.team, copy);
        src = copy;
    }
    scratch += plan.src_bytes;
    if (!has_room()) return report_no_room("a transposed convolution");

    const int64_t n_items = s.n * plan.n_blocks;
    std::atomic<int64_t> next{0};
    std::atomic<bool> ok{true};
    ctx.team.run(int(std::min<int64_t>(n_items, ctx.team.n_threads())), [&](int ith, int) {
        const OneThread guard;
        auto * product = reinterpret_cast<float *>(scratch + size_t(ith) * plan.thread_bytes);
        for (int64_t i = next++; i < n_items; i = next++) {
            const int64_t n = i / plan.n_blocks;
            if (!run_block(s, plan, kernel, src + n * s.ic * s.pixels(), n, i % plan.n_blocks, product))
                ok = false;
        }
    });
    if (!ok) GGML_LOG_ERROR("%s: oneDNN's matrix product failed\n", ggml_op_name(dst->op));
    return ok ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

size_t conv_transpose_scratch(const ggml_tensor * dst, int n_threads) {
    const TransposeShape s(const_cast<ggml_tensor *>(dst));
    const TransposePlan plan(s);
    return saturating_add(plan.kernel_bytes, plan.src_bytes, saturating_mul(n_threads, plan.thread_bytes));
}

bool conv_transpose_supports(const ggml_tensor * dst) {
    const ggml_tensor *kernel = dst->src[0], *src = dst->src[1];
    if (src->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_F32) return false;
    if (kernel->type != GGML_TYPE_F32 && kernel->type != GGML_TYPE_F16) return false;
    if (ggml_is_empty(dst)) return true;
    if (dst->nb[0] != sizeof(float) || dst->nb[1] % sizeof(float) != 0 || dst->nb[2] % sizeof(float) != 0 ||
        dst->nb[3] % sizeof(float) != 0) {
        return false;
    }
    const TransposeShape s(const_cast<ggml_tensor *>(dst));
    const int64_t kernel_ic = kernel->ne[dst->op == GGML_OP_CONV_TRANSPOSE_1D ? 2 : 3];
    return s.stride_x > 0 && kernel_ic == s.ic && s.width > 0 && s.height > 0 &&
           s.out_width == (s.width - 1) * s.stride_x + s.kernel_width &&
           s.out_height == (s.height - 1) * s.stride_y + s.kernel_height;
}

} // namespace ggml::cpu::conv
