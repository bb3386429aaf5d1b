// CONV_2D and CONV_3D through oneDNN, piece by piece (see strip.h). Padding is no operand: where the kernel
// holds infinities or NaN, outputs at the borders are computed again without it (see exact.h).
#include "backends/cpu/convert.h"
#include "backends/cpu/kernels/conv/exact.h"
#include "backends/cpu/kernels/conv/layout.h"
#include "backends/cpu/kernels/conv/rooms.h"
#include "backends/cpu/kernels/conv/strip.h"
#include "backends/cpu/room.h"
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
          src(align_up(plan.src_floats * sizeof(float), 64)),
          dst(align_up(plan.dst_floats * sizeof(float), 64)),
          scratchpad(align_up(strip.scratchpad.get_size(), 64)),
          kernel(s.kernel_type == GGML_TYPE_F32 ? 0 : align_up(strip.weights.get_size(), 64)) {}
    // StripPlan::possible bounds each of them.
    size_t thread() const { return src + dst + scratchpad + kernel; }
};

// One convolution node while it runs.
struct Job {
    const ConvShape & s;
    const StripPlan & plan;
    const StripConv & strip;
    const Sizes sizes;
    std::byte * scratch;

    int64_t n_strips() const { return s.n * plan.n_plane_strips * plan.n_row_strips * plan.n_column_strips; }
    int64_t first_channel(int64_t block) const {
        return std::min(block * plan.channels, s.oc - plan.channels);
    }
    std::byte * weights(int64_t block) const { return scratch + size_t(block) * sizes.weights; }
    size_t scratch_bytes(int n_threads) const {
        return saturating_add(saturating_mul(plan.n_channel_blocks, sizes.weights),
                              saturating_mul(n_threads, sizes.thread()));
    }
    std::byte * thread_scratch(int ith) const {
        return weights(plan.n_channel_blocks) + size_t(ith) * sizes.thread();
    }

    // Returns whether all weights of the block are finite.
    bool pack(int64_t block, std::byte * at) const {
        char * data = s.kernel.data + size_t(first_channel(block)) * s.kernel.nb_outer;
        auto * kernel = reinterpret_cast<float *>(data);
        const auto count = int64_t(strip.weights.get_size() / sizeof(float));
        if (s.kernel_type != GGML_TYPE_F32) {
            kernel = reinterpret_cast<float *>(at);
            half_to_float_row(reinterpret_cast<const uint16_t *>(data), kernel, count);
        }
        dnnl::stream stream(strip.engine);
        dnnl::memory from(strip.weights, strip.engine, kernel),
            to(strip.packed_weights, strip.engine, weights(block));
        strip.pack_weights.execute(stream, from, to);
        return all_finite(kernel, count);
    }

    void run(int64_t item, std::byte * at) const {
        const int64_t block = item / n_strips(), i = item % n_strips();
        const int64_t row_strip = i / plan.n_column_strips, plane_strip = row_strip / plan.n_row_strips;
        const Corner corner{
            plane_strip / plan.n_plane_strips,
            std::min(i % plan.n_column_strips * plan.columns, s.dst.size[0] - plan.columns),
            std::min(row_strip % plan.n_row_strips * plan.rows, s.dst.size[1] - plan.rows),
            std::min(plane_strip % plan.n_plane_strips * plan.planes, s.dst.size[2] - plan.planes)};
        auto * src = reinterpret_cast<float *>(at);
        auto * dst = reinterpret_cast<float *>(at + sizes.src);
        load(corner, src);
        dnnl::stream stream(strip.engine);
        strip.conv.execute(
            stream, {{DNNL_ARG_SRC, {strip.src, strip.engine, src}},
                     {DNNL_ARG_WEIGHTS, {strip.packed_weights, strip.engine, weights(block)}},
                     {DNNL_ARG_DST, {strip.dst, strip.engine, dst}},
                     {DNNL_ARG_SCRATCHPAD, {strip.scratchpad, strip.engine, at + sizes.src + sizes.dst}}});
        store(corner, first_channel(block), dst);
    }

  private:
    // Image and first output of a strip.
    struct Corner {
        int64_t n, x, y, z;
    };

    // Input rows under a strip, zeros where it hangs over the border.
    void load(const Corner & at, float * row) const {
        const char * image = s.src.data + size_t(at.n) * s.src.nb_outer;
        const int64_t row_floats = plan.in_columns * s.ic;
        // Input column of the strip's first one, and the strip's columns [begin, end) that lie in the image.
        const int64_t x0 = s.origin(0, at.x) + plan.pad;
        const int64_t begin = std::clamp<int64_t>(-x0, 0, plan.in_columns);
        const int64_t end = std::clamp<int64_t>(s.src.size[0] - x0, begin, plan.in_columns);
        for (int64_t i = 0; i < plan.in_planes * plan.in_rows; ++i, row += row_floats) {
            const int64_t z = s.origin(2, at.z) + i / plan.in_rows, y = s.origin(1, at.y) + i % plan.in_rows;
            if (z < 0 || z >= s.src.size[2] || y < 0 || y >= s.src.size[1] || begin == end) {
                std::fill_n(row, row_floats, 0.0f);
                continue;
            }
            std::fill(row, row + begin * s.ic, 0.0f);
            row_to_channels_last(image + size_t(z) * s.src.nb[2] + size_t(y) * s.src.nb[1] +
                                     size_t(x0 + begin) * s.src.nb[0],
                                 s.src.nb[0], s.src.nb_channel, end - begin, s.ic, row + begin * s.ic);
            std::fill(row + end * s.ic, row + row_floats, 0.0f);
        }
    }

    void store(const Corner & at, int64_t channel, const float * row) const {
        char * image = s.dst.data + size_t(at.n) * s.dst.nb_outer + size_t(channel) * s.dst.nb_channel +
                       size_t(at.x) * s.dst.nb[0];
        for (int64_t i = 0; i < plan.planes * plan.rows; ++i, row += plan.columns * plan.channels) {
            const int64_t z = at.z + i / plan.rows, y = at.y + i % plan.rows;
            row_from_channels_last(row, plan.columns, plan.channels,
                                   image + size_t(z) * s.dst.nb[2] + size_t(y) * s.dst.nb[1], s.dst.nb[0],
                                   s.dst.nb_channel);
        }
    }
};

ggml_status status_of(const std::exception & e) {
    const auto * error = dynamic_cast<const dnnl::error *>(&e);
    const bool memory = error != nullptr ? error->status == dnnl_out_of_memory
                                         : dynamic_cast<const std::bad_alloc *>(&e) != nullptr;
    return memory ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
}

// Calls work(item, ith) for every item on the team, until the abort callback says so. Nothing may be thrown
// through a parallel section; the first message is logged instead.
template <class Work>
ggml_status for_items(const Team & team, int64_t n_items, Work && work) {
    std::atomic<int64_t> next{0};
    std::atomic<int> status{GGML_STATUS_SUCCESS};
    SectionStop stop(team);
    team.run(int(std::min<int64_t>(n_items, team.n_threads())), [&](int ith, int) {
        for (int64_t i = next++; i < n_items && !stop.asked(ith); i = next++) {
            try {
                work(i, ith);
            } catch (const std::exception & e) {
                if (status.exchange(status_of(e)) == GGML_STATUS_SUCCESS)
                    GGML_LOG_ERROR("convolution: oneDNN failed: %s\n", e.what());
                return;
            }
        }
    });
    if (status != GGML_STATUS_SUCCESS) return ggml_status(status.load());
    return stop.asked() ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS;
}

bool fits_int(int64_t n) { return n >= 0 && n <= INT32_MAX; }

} // namespace

ggml_status conv_dense(const KernelContext & ctx, ggml_tensor * dst) {
    const ConvShape s = shape_of_node(dst);
    const StripPlan plan(s);
    if (!plan.possible) {
        exact_outputs(ctx.team, s, Outputs::all);
        return GGML_STATUS_SUCCESS;
    }
    if (!has_room()) return report_no_room("a convolution's code");
    const auto strip = compile_strip(s, plan);
    if (strip == nullptr) return GGML_STATUS_FAILED;
    const Job job{s, plan, *strip, {s, plan, *strip}, ctx.scratch.data()};
    // Less where memory had run out when the strip was described and is there again.
    if (ctx.scratch.size() < job.scratch_bytes(ctx.team.n_threads()))
        return report_no_room("a convolution's scratch");
    std::atomic<bool> finite{true};
    const ggml_status packed = for_items(ctx.team, plan.n_channel_blocks, [&](int64_t block, int ith) {
        if (!job.pack(block, job.thread_scratch(ith))) finite = false;
    });
    if (packed != GGML_STATUS_SUCCESS) return packed;
    const ggml_status done =
        for_items(ctx.team, job.n_strips() * plan.n_channel_blocks,
                  [&](int64_t item, int ith) { job.run(item, job.thread_scratch(ith)); });
    if (done != GGML_STATUS_SUCCESS) return done;
    if (!finite && has_borders(s)) exact_outputs(ctx.team, s, Outputs::at_borders);
    return GGML_STATUS_SUCCESS;
}

size_t conv_dense_scratch(const ggml_tensor * dst, int n_threads) {
    const ConvShape s = shape_of_node(dst);
    const StripPlan plan(s);
    if (!plan.possible) return 0;
    const auto strip = has_room() ? describe_strip(s, plan) : nullptr;
    if (strip == nullptr) return 0; // conv_dense reports it
    return Job{s, plan, *strip, {s, plan, *strip}, nullptr}.scratch_bytes(n_threads);
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
