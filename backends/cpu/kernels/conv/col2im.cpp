#include "backends/cpu/kernels/conv/rooms.h"
#include "runtime/base/half.h"
#include "runtime/ops/params.h"

#include <algorithm>

namespace ggml::cpu::conv {
namespace {

struct F16 {
    uint16_t bits;
};
struct Bf16 {
    uint16_t bits;
};

float to_float(float x) { return x; }
float to_float(F16 x) { return half_to_float(x.bits); }
float to_float(Bf16 x) { return bf16_to_float(x.bits); }
void assign(float & to, float x) { to = x; }
void assign(F16 & to, float x) { to.bits = float_to_half(x); }
void assign(Bf16 & to, float x) { to.bits = float_to_bf16(x); }

// Columns [channel * kernel] per input step become a signal [time] per channel: what falls onto one time is
// added.
struct Col2imShape {
    const void * columns;
    void * signal;
    int64_t stride, channels, pad, kernel, steps, time;

    explicit Col2imShape(ggml_tensor * dst) : columns(dst->src[0]->data), signal(dst->data) {
        const auto p = get_params<Col2im1dParams>(dst);
        stride = p.s0, channels = p.oc, pad = p.p0;
        kernel = dst->src[0]->ne[0] / p.oc;
        steps = dst->src[0]->ne[1];
        time = dst->ne[0];
    }
    // Steps that reach time t: those with 0 <= t + pad - step * stride < kernel.
    int64_t first_step(int64_t t) const {
        const int64_t reach = t + pad - kernel + 1;
        return reach <= 0 ? 0 : (reach + stride - 1) / stride;
    }
    int64_t last_step(int64_t t) const { return std::min(steps - 1, (t + pad) / stride); }
};

// Sums in F32 in the order of the steps; the result is rounded once.
template <class T>
void gather(const Col2imShape & s, int64_t begin, int64_t end) {
    const T * columns = static_cast<const T *>(s.columns);
    for (int64_t c = 0; c < s.channels; ++c) {
        T * out = static_cast<T *>(s.signal) + c * s.time;
        for (int64_t t = begin; t < end; ++t) {
            float sum = 0;
            for (int64_t step = s.first_step(t); step <= s.last_step(t); ++step) {
                const int64_t tap = t + s.pad - step * s.stride;
                sum += to_float(columns[step * s.kernel * s.channels + c * s.kernel + tap]);
            }
            assign(out[t], sum);
        }
    }
}

template <class T>
void scatter(const Col2imShape & s) {
    const T * columns = static_cast<const T *>(s.columns);
    for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t t = 0; t < s.time; ++t) {
            double sum = 0;
            for (int64_t step = 0; step < s.steps; ++step) {
                const int64_t tap = t + s.pad - step * s.stride;
                if (tap < 0 || tap >= s.kernel) continue;
                sum += double(to_float(columns[step * s.kernel * s.channels + c * s.kernel + tap]));
            }
            assign(static_cast<T *>(s.signal)[c * s.time + t], float(sum));
        }
    }
}

template <class Fn>
void with_type(ggml_type type, Fn && fn) {
    if (type == GGML_TYPE_F32)
        fn(float());
    else if (type == GGML_TYPE_F16)
        fn(F16());
    else
        fn(Bf16());
}

} // namespace

ggml_status col2im_1d(const KernelContext & ctx, ggml_tensor * dst) {
    const Col2imShape s(dst);
    // Short runs of time: the columns under one run are read for every channel and should stay in the cache.
    constexpr int64_t kRun = 64;
    const int64_t per_time = s.channels * (1 + s.kernel / s.stride);
    with_type(dst->type, [&](auto element) {
        const int64_t grain = 1 + kParallelGrain / (per_time + 1);
        ctx.team.parallel_for(s.time, grain, [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; t += kRun)
                gather<decltype(element)>(s, t, std::min(end, t + kRun));
        });
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status col2im_1d_reference(const KernelContext &, ggml_tensor * dst) {
    const Col2imShape s(dst);
    with_type(dst->type, [&](auto element) { scatter<decltype(element)>(s); });
    return GGML_STATUS_SUCCESS;
}

bool col2im_1d_supports(const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    const auto p = get_params<Col2im1dParams>(dst);
    const bool readable =
        src->type == GGML_TYPE_F32 || src->type == GGML_TYPE_F16 || src->type == GGML_TYPE_BF16;
    return readable && dst->type == src->type && ggml_is_contiguous(src) && ggml_is_contiguous(dst) &&
           p.oc > 0 && p.s0 > 0 && p.p0 >= 0 && src->ne[0] % p.oc == 0 && dst->ne[1] == p.oc;
}

} // namespace ggml::cpu::conv
