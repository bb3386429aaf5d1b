#include "models/krea2/model.h"

#include "nn/operators.h"

#include <cmath>

namespace sd {
namespace {

// Part i of a vector cut into parts of `size`.
ggml_tensor * part(Graph & g, ggml_tensor * vector, int64_t size, int i) {
    return ggml_view_1d(g.ctx(), vector, size, size_t(i) * size_t(size) * sizeof(float));
}

// x + y * gate
ggml_tensor * add_gated(Graph & g, ggml_tensor * x, ggml_tensor * y, ggml_tensor * gate) {
    return ggml_add(g.ctx(), x, ggml_mul(g.ctx(), y, gate));
}

} // namespace

Krea2::Krea2(Weights & w, const Krea2Config & config) : config_(config) {
    first_ = w.linear("first");
    time_in_ = w.linear("tmlp.0");
    time_out_ = w.linear("tmlp.2");
    time_projection_ = w.linear("tproj.1");
    projector_ = w.vector("txtfusion.projector.weight");
    const auto blocks = [&](const std::string & name, int count, bool modulated) {
        std::vector<Block> out;
        for (int i = 0; i < count; ++i) out.push_back(block(w, name + std::to_string(i) + ".", modulated));
        return out;
    };
    layerwise_ = blocks("txtfusion.layerwise_blocks.", config.layerwise_blocks, false);
    refiner_ = blocks("txtfusion.refiner_blocks.", config.refiner_blocks, false);
    text_norm_ = w.vector("txtmlp.0.scale", 1.0f);
    text_in_ = w.linear("txtmlp.1");
    text_out_ = w.linear("txtmlp.3");
    blocks_ = blocks("blocks.", config.layers, true);
    last_norm_ = w.vector("last.norm.scale", 1.0f);
    last_modulation_ = w.vector("last.modulation.lin");
    last_ = w.linear("last.linear");
    correction_nodes_ = w.correction_nodes();
}

// All norms of the model are stored around zero.
Krea2::Block Krea2::block(Weights & w, const std::string & name, bool modulated) const {
    Block b = {};
    b.prenorm = w.vector(name + "prenorm.scale", 1.0f);
    b.postnorm = w.vector(name + "postnorm.scale", 1.0f);
    if (modulated) b.modulation = w.vector(name + "mod.lin");
    const std::string a = name + "attn.", m = name + "mlp.";
    const std::vector<Linear> in = w.linears({a + "wq", a + "wk", a + "wv", a + "gate"});
    b.attention = {in[0],
                   in[1],
                   in[2],
                   in[3],
                   w.linear(a + "wo"),
                   w.vector(a + "qknorm.qnorm.scale", 1.0f),
                   w.vector(a + "qknorm.knorm.scale", 1.0f)};
    const std::vector<Linear> wide = w.linears({m + "gate", m + "up"});
    b.mlp = {wide[0], wide[1], w.linear(m + "down")};
    return b;
}

ggml_tensor * Krea2::attend(Graph & g, const Attention & a, ggml_tensor * x, int64_t head_dim,
                            ggml_tensor * rope) const {
    constexpr float eps = Krea2Config::norm_eps;
    ggml_context * ctx = g.ctx();
    ggml_tensor * q = rms_norm(g, split_heads(g, linear(g, a.q, x), head_dim), a.q_norm, eps);
    ggml_tensor * k = rms_norm(g, split_heads(g, linear(g, a.k, x), head_dim), a.k_norm, eps);
    ggml_tensor * v = split_heads(g, linear(g, a.v, x), head_dim);
    if (rope != nullptr) {
        q = rope_apply(g, q, rope, true);
        k = rope_apply(g, k, rope, true);
    }
    ggml_tensor * y = attention(g, q, k, v, nullptr, 1.0f / std::sqrt(float(head_dim)));
    ggml_tensor * gate = ggml_sigmoid(ctx, linear(g, a.gate, x));
    return linear(g, a.out, ggml_mul(ctx, y, gate));
}

ggml_tensor * Krea2::text_block(Graph & g, const Block & b, ggml_tensor * x) const {
    constexpr float eps = Krea2Config::norm_eps;
    x = ggml_add(g.ctx(), x,
                 attend(g, b.attention, rms_norm(g, x, b.prenorm, eps), config_.text_head_dim, nullptr));
    return ggml_add(g.ctx(), x, swiglu(g, b.mlp, rms_norm(g, x, b.postnorm, eps)));
}

ggml_tensor * Krea2::text(Graph & g, ggml_tensor * context) const {
    ggml_context * ctx = g.ctx();
    const int64_t tokens = context->ne[1], dim = config_.text_dim, states = config_.text_layers;
    // Every token is a sequence of its states.
    ggml_tensor * x = ggml_reshape_3d(ctx, context, dim, states, tokens);
    for (const Block & b : layerwise_) x = text_block(g, b, x);
    // The projector weighs the states: with them innermost, one product.
    x = ggml_cont(ctx, ggml_permute(ctx, x, 1, 0, 2, 3));
    x = ggml_mul_mat(ctx, ggml_reshape_2d(ctx, projector_, states, 1),
                     ggml_reshape_2d(ctx, x, states, dim * tokens));
    x = ggml_reshape_2d(ctx, x, dim, tokens);
    for (const Block & b : refiner_) x = text_block(g, b, x);
    g.watch("txtfusion", x);
    x = linear(g, text_in_, rms_norm(g, x, text_norm_, Krea2Config::norm_eps));
    x = linear(g, text_out_, ggml_gelu(ctx, x));
    g.watch("txtmlp", x);
    return x;
}

ggml_tensor * Krea2::main_block(Graph & g, const Block & b, ggml_tensor * x, ggml_tensor * tvec,
                                ggml_tensor * rope) const {
    constexpr float eps = Krea2Config::norm_eps;
    ggml_tensor * m = ggml_add(g.ctx(), tvec, b.modulation);
    const auto chunk = [&](int i) { return part(g, m, config_.features, i); };
    // In the order of the file: scale, shift, gate; first for attention, then for the MLP.
    ggml_tensor * y = modulate(g, rms_norm(g, x, b.prenorm, eps), chunk(0), chunk(1));
    x = add_gated(g, x, attend(g, b.attention, y, config_.head_dim, rope), chunk(2));
    y = modulate(g, rms_norm(g, x, b.postnorm, eps), chunk(3), chunk(4));
    return add_gated(g, x, swiglu(g, b.mlp, y), chunk(5));
}

ggml_tensor * Krea2::velocity(Graph & g, const Inputs & in) const {
    ggml_context * ctx = g.ctx();
    const int64_t d = config_.features, tokens = in.text->ne[1], patches = in.patches->ne[1];
    ggml_tensor * temb = linear(g, time_out_, ggml_gelu(ctx, linear(g, time_in_, in.timestep)));
    ggml_tensor * tvec = linear(g, time_projection_, ggml_gelu(ctx, temb));
    ggml_tensor * image = linear(g, first_, in.patches);
    g.watch("tmlp", temb);
    g.watch("tproj", tvec);
    g.watch("first", image);
    ggml_tensor * x = ggml_concat(ctx, in.text, image, 1);
    for (size_t i = 0; i < blocks_.size(); ++i) {
        x = main_block(g, blocks_[i], x, tvec, in.rope);
        g.watch("block" + std::to_string(i), x);
    }
    // Only image tokens are of interest from here on. The last layer is modulated by the time embedding
    // itself, not by its projection.
    x = ggml_view_2d(ctx, x, d, patches, x->nb[1], size_t(tokens) * x->nb[1]);
    ggml_tensor * scale = ggml_add(ctx, temb, part(g, last_modulation_, d, 0));
    ggml_tensor * shift = ggml_add(ctx, temb, part(g, last_modulation_, d, 1));
    x = modulate(g, rms_norm(g, x, last_norm_, Krea2Config::norm_eps), scale, shift);
    x = linear(g, last_, x);
    g.watch("last", x);
    return x;
}

size_t Krea2::most_nodes() const {
    constexpr size_t kPerBlock = 80, kOthers = 128;
    return (layerwise_.size() + refiner_.size() + blocks_.size()) * kPerBlock + kOthers + correction_nodes_;
}

} // namespace sd
