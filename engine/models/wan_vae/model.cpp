#include "models/wan_vae/model.h"

#include "nn/operators.h"

#include <cmath>

namespace sd {
namespace {

constexpr float kNormEps = 1e-12f;

ggml_tensor * channel_norm(Graph & g, ggml_tensor * x, ggml_tensor * gamma, bool silu) {
    return channel_rms_norm(g, x, gamma, kNormEps, silu);
}

} // namespace

// The statistics the model was trained with; files do not carry them.
const std::array<float, 16> WanLatent::mean = {-0.7571f, -0.7089f, -0.9113f, 0.1075f,  -0.1745f, 0.9653f,
                                               -0.1517f, 1.5508f,  0.4134f,  -0.0715f, 0.5517f,  -0.3632f,
                                               -0.1922f, -0.9497f, 0.2503f,  -0.2921f};
const std::array<float, 16> WanLatent::deviation = {2.8184f, 1.4541f, 2.3275f, 2.6558f, 1.2196f, 1.7708f,
                                                    2.6052f, 2.0743f, 3.2687f, 2.1526f, 2.8652f, 1.5579f,
                                                    1.6382f, 1.1253f, 2.8251f, 1.9160f};

WanVae::WanVae(Weights & w, const WanVaeConfig & config, Part part) {
    constexpr int64_t z = WanVaeConfig::z_channels;
    const int64_t dim = config.dim, inner = 4 * dim;
    if (part == Part::decoder) {
        latent_ = conv(w, "conv2", z, z);
        first_ = conv(w, "decoder.conv1", z, inner);
        middle_ = middle(w, "decoder.middle", inner);
        add_layers(w, "decoder.upsamples.", wan_decoder_levels(dim));
        head_norm_ = w.vector("decoder.head.0.gamma");
        last_ = conv(w, "decoder.head.2", dim, 3);
        return;
    }
    first_ = conv(w, "encoder.conv1", 3, dim);
    add_layers(w, "encoder.downsamples.", wan_encoder_levels(dim));
    middle_ = middle(w, "encoder.middle", inner);
    head_norm_ = w.vector("encoder.head.0.gamma");
    last_ = conv(w, "encoder.head.2", inner, 2 * z);
    latent_ = conv(w, "conv1", 2 * z, 2 * z);
}

WanVae::Conv WanVae::conv(Weights & w, const std::string & name, int64_t in, int64_t out) const {
    return {w.kernel(name + ".weight", in, out), w.vector(name + ".bias")};
}

WanVae::Residual WanVae::residual(Weights & w, const std::string & name, int64_t in, int64_t out) const {
    Residual r = {};
    r.norm1 = w.vector(name + ".residual.0.gamma");
    r.conv1 = conv(w, name + ".residual.2", in, out);
    r.norm2 = w.vector(name + ".residual.3.gamma");
    r.conv2 = conv(w, name + ".residual.6", out, out);
    if (in != out) r.shortcut = conv(w, name + ".shortcut", in, out);
    return r;
}

WanVae::Middle WanVae::middle(Weights & w, const std::string & name, int64_t channels) const {
    const std::string a = name + ".1.";
    return {residual(w, name + ".0", channels, channels),
            residual(w, name + ".2", channels, channels),
            {w.vector(a + "norm.gamma"), w.kernel(a + "to_qkv.weight", channels, 3 * channels),
             w.vector(a + "to_qkv.bias"), w.kernel(a + "proj.weight", channels, channels),
             w.vector(a + "proj.bias")}};
}

void WanVae::add_layers(Weights & w, const std::string & name, const std::vector<WanLevel> & levels) {
    for (size_t i = 0; i < levels.size(); ++i) {
        const WanLevel & level = levels[i];
        const std::string layer = name + std::to_string(i);
        Layer l = {};
        l.residual = level.layer == WanLayer::residual || level.layer == WanLayer::shortcut_residual;
        if (l.residual)
            l.block = residual(w, layer, level.in, level.out);
        else
            l.resample = conv(w, layer + ".resample.1", level.in, level.out);
        layers_.push_back(l);
    }
}

ggml_tensor * WanVae::apply(Graph & g, const Conv & c, ggml_tensor * x, int stride, int padding) const {
    ggml_tensor * y = ggml_conv_2d_direct(g.ctx(), c.kernel, x, stride, stride, padding, padding, 1, 1);
    return ggml_add(g.ctx(), y, ggml_reshape_3d(g.ctx(), c.bias, 1, 1, c.bias->ne[0]));
}

ggml_tensor * WanVae::apply(Graph & g, const Residual & r, ggml_tensor * x) const {
    ggml_tensor * y = apply(g, r.conv1, channel_norm(g, x, r.norm1, true), 1, 1);
    y = apply(g, r.conv2, channel_norm(g, y, r.norm2, true), 1, 1);
    if (r.shortcut.kernel != nullptr) x = apply(g, r.shortcut, x, 1, 0);
    return ggml_add(g.ctx(), y, x);
}

// One head as wide as the picture has channels, over all pixels.
ggml_tensor * WanVae::apply(Graph & g, const Attention & a, ggml_tensor * x) const {
    ggml_context * ctx = g.ctx();
    const int64_t width = x->ne[0], height = x->ne[1], channels = x->ne[2], pixels = width * height;
    ggml_tensor * n = channel_norm(g, x, a.norm, false);
    n = ggml_cont(ctx, ggml_transpose(ctx, ggml_reshape_2d(ctx, n, pixels, channels)));
    const auto dense = [&](ggml_tensor * kernel, ggml_tensor * bias, ggml_tensor * in) {
        ggml_tensor * matrix = ggml_reshape_2d(ctx, kernel, kernel->ne[2], kernel->ne[3]);
        return ggml_add(ctx, ggml_mul_mat(ctx, matrix, in), bias);
    };
    ggml_tensor * qkv = dense(a.qkv, a.qkv_bias, n);
    const auto third = [&](int i) {
        return ggml_view_2d(ctx, qkv, channels, pixels, qkv->nb[1], size_t(i * channels) * sizeof(float));
    };
    ggml_tensor * y = ggml_flash_attn_ext(ctx, third(0), third(1), third(2), nullptr,
                                          1.0f / std::sqrt(float(channels)), 0.0f, 0.0f);
    y = dense(a.proj, a.proj_bias, ggml_reshape_2d(ctx, y, channels, pixels));
    y = ggml_reshape_3d(ctx, ggml_cont(ctx, ggml_transpose(ctx, y)), width, height, channels);
    return ggml_add(ctx, y, x);
}

ggml_tensor * WanVae::apply(Graph & g, const Middle & m, ggml_tensor * x) const {
    return apply(g, m.after, apply(g, m.attention, apply(g, m.before, x)));
}

ggml_tensor * WanVae::head(Graph & g, ggml_tensor * x) const {
    return apply(g, last_, channel_norm(g, x, head_norm_, true), 1, 1);
}

ggml_tensor * WanVae::decode(Graph & g, ggml_tensor * latent) const {
    ggml_tensor * x = apply(g, first_, apply(g, latent_, latent, 1, 0), 1, 1);
    x = apply(g, middle_, x);
    for (const Layer & l : layers_) {
        if (l.residual)
            x = apply(g, l.block, x);
        else
            x = apply(g, l.resample, ggml_upscale(g.ctx(), x, 2, GGML_SCALE_MODE_NEAREST), 1, 1);
    }
    return head(g, x);
}

ggml_tensor * WanVae::encode(Graph & g, ggml_tensor * image) const {
    ggml_tensor * x = apply(g, first_, image, 1, 1);
    for (const Layer & l : layers_) {
        if (l.residual) x = apply(g, l.block, x);
        // Padded on the right and at the bottom only.
        else
            x = apply(g, l.resample, ggml_pad(g.ctx(), x, 1, 1, 0, 0), 2, 0);
    }
    x = apply(g, latent_, head(g, apply(g, middle_, x)), 1, 0);
    // The second half is the logarithm of the variance, which nobody draws from.
    ggml_tensor * mean =
        ggml_view_3d(g.ctx(), x, x->ne[0], x->ne[1], WanVaeConfig::z_channels, x->nb[1], x->nb[2], 0);
    return ggml_cont(g.ctx(), mean);
}

} // namespace sd
