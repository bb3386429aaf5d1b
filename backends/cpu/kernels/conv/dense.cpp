// CONV_2D and CONV_3D: strips of the image go to channels-last, through oneDNN, and back.
#include "backends/cpu/convert.h"
#include "backends/cpu/kernels/conv/layout.h"
#include "backends/cpu/kernels/conv/rooms.h"
#include "backends/cpu/kernels/conv/strip.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu::conv {
namespace {

ConvShape shape_of_node(const ggml_tensor * dst) {
    return dst->op == GGML_OP_CONV_3D ? conv_3d_shape(dst) : conv_2d_shape(dst);
}

// A kernel that is not float gets a float copy.
size_t kernel_copy_bytes(const ConvShape & s, const StripConv & strip) {
    return s.kernel_type == GGML_TYPE_F32 ? 0 : align_up(strip.weights.get_size(), 64);
}

struct Buffers {
    float *kernel, *weights, *scratchpad, *src, *dst;
};

Buffers carve(const ConvShape & s, const StripPlan & plan, const StripConv & strip, std::byte * scratch) {
    const auto take = [&](size_t bytes) {
        auto * at = reinterpret_cast<float *>(scratch);
        scratch += align_up(bytes, 64);
        return at;
    };
    Buffers b;
    b.kernel = s.kernel_type == GGML_TYPE_F32 ? reinterpret_cast<float *>(s.kernel.data)
                                              : take(kernel_copy_bytes(s, strip));
    b.weights = take(strip.packed_weights.get_size());
    b.scratchpad = take(strip.scratchpad.get_size());
    b.src = take(plan.src_floats(s) * sizeof(float));
    b.dst = take(plan.dst_floats(s) * sizeof(float));
    return b;
}

// Input rows under a strip, zeros where it hangs over the border.
void load_strip(const Team & team, const ConvShape & s, const StripPlan & plan, const char * image, int64_t y0,
                int64_t z0, float * out) {
    const int64_t row_floats = s.src.size[0] * s.ic;
    team.parallel_for(plan.in_planes * plan.in_rows, 1 + kParallelGrain / (row_floats + 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t z = z0 + i / plan.in_rows, y = y0 + i % plan.in_rows;
            float * row = out + i * row_floats;
            if (z < 0 || z >= s.src.size[2] || y < 0 || y >= s.src.size[1]) {
                std::memset(row, 0, size_t(row_floats) * sizeof(float));
            } else {
                row_to_channels_last(image + size_t(z) * s.src.nb[2] + size_t(y) * s.src.nb[1], s.src.nb[0],
                                     s.src.nb_channel, s.src.size[0], s.ic, row);
            }
        }
    });
}

void store_strip(const Team & team, const ConvShape & s, const StripPlan & plan, const float * in, int64_t y0, int64_t z0,
                 char * image) {
    const int64_t row_floats = s.dst.size[0] * s.oc;
    team.parallel_for(plan.planes * plan.rows, 1 + kParallelGrain / (row_floats + 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t z = z0 + i / plan.rows, y = y0 + i % plan.rows;
            row_from_channels_last(in + i * row_floats, s.dst.size[0], s.oc,
                                   image + size_t(z) * s.dst.nb[2] + size_t(y) * s.dst.nb[1], s.dst.nb[0], s.dst.nb_channel);
        }
    });
}

ggml_status run(const KernelContext & ctx, const ConvShape & s, const StripPlan & plan, const StripConv & strip) {
    const Buffers b = carve(s, plan, strip, ctx.scratch.data());
    if (s.kernel_type != GGML_TYPE_F32) {
        const auto n = int64_t(strip.weights.get_size() / sizeof(float));
        half_to_float_row(reinterpret_cast<const uint16_t *>(s.kernel.data), b.kernel, n);
    }
    dnnl::stream stream(strip.engine);
    dnnl::memory weights(strip.packed_weights, strip.engine, b.weights);
    const dnnl::memory src(strip.src, strip.engine, b.src), dst(strip.dst, strip.engine, b.dst);
    const dnnl::memory scratchpad(strip.scratchpad, strip.engine, b.scratchpad);
    dnnl::memory kernel(strip.weights, strip.engine, b.kernel);
    strip.pack_weights.execute(stream, kernel, weights);

    for (int64_t n = 0; n < s.n; ++n) {
        for (int64_t zs = 0; zs < plan.n_plane_strips; ++zs) {
            for (int64_t ys = 0; ys < plan.n_row_strips; ++ys) {
                if (ctx.team.aborted()) return GGML_STATUS_ABORTED;
                const int64_t z = std::min(zs * plan.planes, s.dst.size[2] - plan.planes);
                const int64_t y = std::min(ys * plan.rows, s.dst.size[1] - plan.rows);
                load_strip(ctx.team, s, plan, s.src.data + size_t(n) * s.src.nb_outer, s.origin(1, y), s.origin(2, z), b.src);
                strip.conv.execute(stream, {{DNNL_ARG_SRC, src},
                                            {DNNL_ARG_WEIGHTS, weights},
                                            {DNNL_ARG_DST, dst},
                                            {DNNL_ARG_SCRATCHPAD, scratchpad}});
                stream.wait();
                store_strip(ctx.team, s, plan, b.dst, y, z, s.dst.data + size_t(n) * s.dst.nb_outer);
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

bool fits_int(int64_t n) {
    return n >= 0 && n <= INT32_MAX;
}

} // namespace

ggml_status conv_dense(const KernelContext & ctx, ggml_tensor * dst) {
    const ConvShape s = shape_of_node(dst);
    const StripPlan plan(s);
    const auto strip = strip_conv(s, plan, ctx.team.n_threads());
    if (strip == nullptr) return GGML_STATUS_FAILED;
    try {
        return run(ctx, s, plan, *strip);
    } catch (const std::exception & e) {
        GGML_LOG_ERROR("convolution: oneDNN failed: %s\n", e.what());
        return GGML_STATUS_FAILED;
    }
}

size_t conv_dense_scratch(const ggml_tensor * dst, int n_threads) {
    const ConvShape s = shape_of_node(dst);
    const StripPlan plan(s);
    const auto strip = strip_conv(s, plan, n_threads);
    if (strip == nullptr) return 0; // conv_dense reports it
    return kernel_copy_bytes(s, *strip) + align_up(strip->packed_weights.get_size(), 64) +
           align_up(strip->scratchpad.get_size(), 64) + align_up(plan.src_floats(s) * sizeof(float), 64) +
           align_up(plan.dst_floats(s) * sizeof(float), 64);
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
    const bool channels_ok = dst->op == GGML_OP_CONV_3D
                                 ? src->ne[3] == s.ic * s.n && kernel->ne[3] == s.ic * s.oc && dst->ne[3] == s.oc * s.n
                                 : kernel->ne[2] == s.ic && dst->ne[2] == s.oc && dst->ne[3] == s.n;
    return channels_ok && fits_int(s.ic) && fits_int(s.oc);
}

} // namespace ggml::cpu::conv
