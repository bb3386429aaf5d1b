// CONV_2D and CONV_3D through oneDNN, piece by piece (see strip.h).
#include "backends/cpu/convert.h"
#include "backends/cpu/kernels/conv/layout.h"
#include "backends/cpu/kernels/conv/rooms.h"
#include "backends/cpu/kernels/conv/strip.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ggml::cpu::conv {
namespace {

ConvShape shape_of_node(const ggml_tensor * dst) {
    return dst->op == GGML_OP_CONV_3D ? conv_3d_shape(dst) : conv_2d_shape(dst);
}

// Pieces of scratch: packed weights of all channel blocks, then per thread a strip's input and output,
// oneDNN's scratchpad, and a float copy of one block of the kernel.
struct Sizes {
    size_t weights, src, dst, scratchpad, kernel;

    Sizes(const ConvShape & s, const StripPlan & plan, const StripConv & strip)
        : weights(align_up(strip.packed_weights.get_size(), 64)),
          src(align_up(plan.src_floats(s) * sizeof(float), 64)),
          dst(align_up(plan.dst_floats(s) * sizeof(float), 64)),
          scratchpad(align_up(strip.scratchpad.get_size(), 64)),
          kernel(s.kernel_type == GGML_TYPE_F32 ? 0 : align_up(strip.weights.get_size(), 64)) {}
    size_t thread() const { return src + dst + scratchpad + kernel; }
};

// One convolution node while it runs.
struct Job {
    const ConvShape & s;
    const StripPlan & plan;
    const StripConv & strip;
    const Sizes sizes;
    std::byte * scratch;

    int64_t n_strips() const { return s.n * plan.n_plane_strips * plan.n_row_strips; }
    int64_t first_channel(int64_t block) const {
        return std::min(block * plan.channels, s.oc - plan.channels);
    }
    std::byte * weights(int64_t block) const { return scratch + size_t(block) * sizes.weights; }
    std::byte * thread_scratch(int ith) const {
        return weights(plan.n_channel_blocks) + size_t(ith) * sizes.thread();
    }

    void pack(int64_t block, std::byte * at) const {
        char * kernel = s.kernel.data + size_t(first_channel(block)) * s.kernel.nb_outer;
        if (s.kernel_type != GGML_TYPE_F32) {
            auto * copy = reinterpret_cast<float *>(at);
            half_to_float_row(reinterpret_cast<const uint16_t *>(kernel), copy,
                              int64_t(strip.weights.get_size() / sizeof(float)));
            kernel = reinterpret_cast<char *>(copy);
        }
        dnnl::stream stream(strip.engine);
        dnnl::memory from(strip.weights, strip.engine, kernel),
            to(strip.packed_weights, strip.engine, weights(block));
        strip.pack_weights.execute(stream, from, to);
    }

    void run(int64_t item, std::byte * at) const {
        const int64_t block = item / n_strips(), i = item % n_strips();
        const int64_t n = i / (plan.n_plane_strips * plan.n_row_strips);
        const int64_t z =
            std::min(i / plan.n_row_strips % plan.n_plane_strips * plan.planes, s.dst.size[2] - plan.planes);
        const int64_t y = std::min(i % plan.n_row_strips * plan.rows, s.dst.size[1] - plan.rows);
        auto * src = reinterpret_cast<float *>(at);
        auto * dst = reinterpret_cast<float *>(at + sizes.src);
        load(n, y, z, src);
        dnnl::stream stream(strip.engine);
        strip.conv.execute(
            stream, {{DNNL_ARG_SRC, {strip.src, strip.engine, src}},
                     {DNNL_ARG_WEIGHTS, {strip.packed_weights, strip.engine, weights(block)}},
                     {DNNL_ARG_DST, {strip.dst, strip.engine, dst}},
                     {DNNL_ARG_SCRATCHPAD, {strip.scratchpad, strip.engine, at + sizes.src + sizes.dst}}});
        store(n, first_channel(block), y, z, dst);
    }

  private:
    // Input rows under a strip, zeros where it hangs over the border.
    void load(int64_t n, int64_t y0, int64_t z0, float * row) const {
        const char * image = s.src.data + size_t(n) * s.src.nb_outer;
        const int64_t row_floats = s.src.size[0] * s.ic;
        for (int64_t i = 0; i < plan.in_planes * plan.in_rows; ++i, row += row_floats) {
            const int64_t z = s.origin(2, z0) + i / plan.in_rows, y = s.origin(1, y0) + i % plan.in_rows;
            if (z < 0 || z >= s.src.size[2] || y < 0 || y >= s.src.size[1]) {
                std::memset(row, 0, size_t(row_floats) * sizeof(float));
            } else {
                row_to_channels_last(image + size_t(z) * s.src.nb[2] + size_t(y) * s.src.nb[1], s.src.nb[0],
                                     s.src.nb_channel, s.src.size[0], s.ic, row);
            }
        }
    }

    void store(int64_t n, int64_t channel, int64_t y0, int64_t z0, const float * row) const {
        char * image = s.dst.data + size_t(n) * s.dst.nb_outer + size_t(channel) * s.dst.nb_channel;
        for (int64_t i = 0; i < plan.planes * plan.rows; ++i, row += s.dst.size[0] * plan.channels) {
            const int64_t z = z0 + i / plan.rows, y = y0 + i % plan.rows;
            row_from_channels_last(row, s.dst.size[0], plan.channels,
                                   image + size_t(z) * s.dst.nb[2] + size_t(y) * s.dst.nb[1], s.dst.nb[0],
                                   s.dst.nb_channel);
        }
    }
};

// Calls work(item, ith) for every item on the team. Nothing may be thrown through a parallel section; the
// first message is logged instead.
template <class Work>
bool for_items(const Team & team, int64_t n_items, Work && work) {
    std::atomic<int64_t> next{0};
    std::atomic<bool> ok{true};
    team.run(int(std::min<int64_t>(n_items, team.n_threads())), [&](int ith, int) {
        for (int64_t i = next++; i < n_items; i = next++) {
            try {
                work(i, ith);
            } catch (const std::exception & e) {
                if (ok.exchange(false)) GGML_LOG_ERROR("convolution: oneDNN failed: %s\n", e.what());
                return;
            }
        }
    });
    return ok;
}

bool fits_int(int64_t n) { return n >= 0 && n <= INT32_MAX; }

} // namespace

ggml_status conv_dense(const KernelContext & ctx, ggml_tensor * dst) {
    const ConvShape s = shape_of_node(dst);
    const StripPlan plan(s);
    const auto strip = strip_conv(s, plan);
    if (strip == nullptr) return GGML_STATUS_FAILED;
    const Job job{s, plan, *strip, {s, plan, *strip}, ctx.scratch.data()};
    const bool packed = for_items(ctx.team, plan.n_channel_blocks,
                                  [&](int64_t block, int ith) { job.pack(block, job.thread_scratch(ith)); });
    if (!packed) return GGML_STATUS_FAILED;
    if (ctx.team.aborted()) return GGML_STATUS_ABORTED;
    const bool done = for_items(ctx.team, job.n_strips() * plan.n_channel_blocks,
                                [&](int64_t item, int ith) { job.run(item, job.thread_scratch(ith)); });
    return done ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

size_t conv_dense_scratch(const ggml_tensor * dst, int n_threads) {
    const ConvShape s = shape_of_node(dst);
    const StripPlan plan(s);
    const auto strip = strip_conv(s, plan);
    if (strip == nullptr) return 0; // conv_dense reports it
    const Sizes sizes(s, plan, *strip);
    return size_t(plan.n_channel_blocks) * sizes.weights + size_t(n_threads) * sizes.thread();
}

bool conv_supports(const ggml_tensor * dst) {
    const ggml_tensor *kernel = dst->src[0], *src = dst->src[1];
    if (src->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_F32) return false;
    if (kernel->type != GGML_TYPE_F32 && kernel->type != GGML_TYPE_F16) return false;
    if (ggml_is_empty(dst)) return true;
    if (!ggml_is_contiguous(kernel) || ggml_is_empty(kernel) || ggml_is_empty(src)) return false;
    const ConvShape s = shape_of_node(dst);
    for (size_t i = 0; i < 3; ++i) {
        // What ggml's output size formula gives; anything else would read outside the strip.
        const int64_t room = s.src.size[i] + 2 * s.pad[i] - s.extent(int(i));
        if (s.stride[i] < 1 || s.dilation[i] < 1 || s.pad[i] < 0 || room < 0) return false;
        if (s.dst.size[i] != room / s.stride[i] + 1) return false;
        if (!fits_int(s.src.size[i] + 2 * s.pad[i]) || !fits_int(s.extent(int(i)))) return false;
    }
    const bool channels_ok =
        dst->op == GGML_OP_CONV_3D
            ? src->ne[3] == s.ic * s.n && kernel->ne[3] == s.ic * s.oc && dst->ne[3] == s.oc * s.n
            : kernel->ne[2] == s.ic && dst->ne[2] == s.oc && dst->ne[3] == s.n;
    return channels_ok && fits_int(s.ic) && fits_int(s.oc);
}

} // namespace ggml::cpu::conv
