#include "ops/channel_rms_norm/schema.h"

#include "ops/common/attrs.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void * attrs, ggml_ext_output * output,
           ggml_ext_why_t why, void *) {
    if (n_inputs != 2 || inputs[0] == nullptr || inputs[1] == nullptr)
        return ggml_ext_refuse(why, "x and gamma are needed");
    const ggml_tensor *x = inputs[0], *gamma = inputs[1];
    if (!is_float_aligned(x) || !ggml_is_contiguous(x))
        return ggml_ext_refuse(why, "x, %s, is not contiguous F32", shape_text(x).c_str());
    const bool vector = is_float_aligned(gamma) && ggml_is_contiguous(gamma);
    if (!vector || ggml_nelements(gamma) != x->ne[2]) {
        return ggml_ext_refuse(why,
                               "gamma, %s, is not contiguous F32 with an element for each channel of x, %s",
                               shape_text(gamma).c_str(), shape_text(x).c_str());
    }
    const auto a = attrs_of<ChannelRmsNormAttrs>(attrs);
    if (!(a.eps >= 0.0f) || !std::isfinite(a.eps) || (a.silu != 0 && a.silu != 1))
        return ggml_ext_refuse(why, "eps is %g, silu is %d", double(a.eps), int(a.silu));
    std::copy(x->ne, x->ne + GGML_MAX_DIMS, output->ne);
    return true;
}

} // namespace

ggml_status channel_rms_norm_reference(ggml_tensor * node, void *) {
    const ggml_tensor * x = node->src[0];
    const auto * gamma = static_cast<const float *>(node->src[1]->data);
    const auto attrs = attrs_of<ChannelRmsNormAttrs>(node);
    const int64_t pixels = x->ne[0] * x->ne[1], channels = x->ne[2];
    for (int64_t i = 0; i < x->ne[3] * pixels; ++i) {
        const int64_t first = i / pixels * channels * pixels + i % pixels;
        const float * in = static_cast<const float *>(x->data) + first;
        float * out = static_cast<float *>(node->data) + first;
        float sum = 0.0f;
        for (int64_t c = 0; c < channels; ++c) {
            const float square = in[c * pixels] * in[c * pixels];
            sum += square;
        }
        const float factor = 1.0f / std::sqrt(sum / float(channels) + attrs.eps);
        for (int64_t c = 0; c < channels; ++c) {
            const float z = in[c * pixels] * factor * gamma[c];
            out[c * pixels] = attrs.silu != 0 ? float(double(z) / (1.0 + std::exp(-double(z)))) : z;
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_ext_op_t channel_rms_norm_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.channel_rms_norm.v1";
    desc.attr_size = sizeof(ChannelRmsNormAttrs);
    desc.infer = infer;
    desc.reference = channel_rms_norm_reference;
    return register_op_once(desc);
}

} // namespace sd

extern "C" ggml_tensor * ggml_ext_channel_rms_norm(ggml_context * ctx, ggml_tensor * x, ggml_tensor * gamma,
                                                   float eps, bool silu) {
    const sd::ChannelRmsNormAttrs attrs = {eps, silu ? 1 : 0};
    ggml_tensor * inputs[] = {x, gamma};
    return ggml_ext_op_create(ctx, sd::channel_rms_norm_op(), inputs, 2, &attrs, sizeof(attrs));
}
