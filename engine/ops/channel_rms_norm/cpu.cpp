#include "ops/channel_rms_norm/cpu.h"

#include "ops/channel_rms_norm/schema.h"
#include "ops/common/attrs.h"
#include "ops/common/cpu.h"
#include "ops/common/output.h"
#include "ops/common/register.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

struct Kernel {
    const char * name;
    void (*entry)(const ChannelNormSpan &);
};

constexpr Kernel kKernels[] = {
#define X(name, entry) {name, entry},
#include "ops/channel_rms_norm/kernels.inc"
#undef X
};

// Whatever the operator allows.
bool supports(ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *) { return true; }

ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *) {
    prepared->workspace_bytes = Output::scratch_bytes(*params);
    return GGML_STATUS_SUCCESS;
}

// Pixels that are worked on together. They are read twice, so all their channels should stay in the
// second-level cache; a power of two keeps vectors whole.
int64_t span_pixels(int64_t channels) {
    constexpr int64_t kFloats = 64 * 1024;
    int64_t pixels = ChannelNormSpan::kMaxPixels;
    while (pixels > 64 && pixels * channels > kFloats) pixels /= 2;
    return pixels;
}

ggml_status execute(const ggml_ext_execute_params * params, void *, void * self) {
    constexpr int64_t kTask = 16384; // elements worth waking a thread for
    const ggml_tensor * node = params->step.nodes[0];
    const ggml_tensor * x = node->src[0];
    const auto attrs = attrs_of<ChannelRmsNormAttrs>(node);
    const Output output(params->step, params->workspace_base);
    const int64_t plane = x->ne[0] * x->ne[1], channels = x->ne[2], most = span_pixels(channels);
    const int64_t spans = (plane + most - 1) / most;
    const int tasks = int(std::clamp<int64_t>(ggml_nelements(node) / kTask, 1, cpu_threads(params->backend)));
    const ggml_status status = cpu_run(params->backend, tasks, [&](int ith, int nth) {
        const auto [first, last] = part_of(spans * x->ne[3], ith, nth);
        for (int64_t i = first; i < last; ++i) {
            const int64_t pixel = i % spans * most, place = i / spans * channels * plane + pixel;
            static_cast<const Kernel *>(self)->entry(
                {static_cast<const float *>(x->data) + place, static_cast<float *>(output.data()) + place,
                 plane, channels, std::min(most, plane - pixel),
                 static_cast<const float *>(node->src[1]->data), attrs.eps, attrs.silu != 0});
        }
    });
    if (status == GGML_STATUS_SUCCESS) output.finish();
    return status;
}

} // namespace

void channel_norm_span_scalar(const ChannelNormSpan & s) {
    for (int64_t i = 0; i < s.pixels; ++i) {
        float sum = 0.0f;
        for (int64_t c = 0; c < s.channels; ++c) {
            const float square = s.x[c * s.plane + i] * s.x[c * s.plane + i];
            sum += square;
        }
        const float factor = 1.0f / std::sqrt(sum / float(s.channels) + s.eps);
        for (int64_t c = 0; c < s.channels; ++c) {
            const float z = s.x[c * s.plane + i] * factor * s.gamma[c];
            s.y[c * s.plane + i] = s.silu ? z / (1.0f + std::exp(-z)) : z;
        }
    }
}

ggml_ext_status register_channel_rms_norm(ggml_backend_dev_t device) {
    const ggml_ext_op_t op = channel_rms_norm_op();
    if (op == nullptr) return GGML_EXT_NO_MEMORY;
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc callbacks = {};
    callbacks.supports = supports;
    callbacks.prepare = prepare;
    callbacks.execute = execute;
    return add_kernels(device, op, callbacks, kKernels);
}

} // namespace sd
