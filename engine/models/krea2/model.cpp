#include "models/krea2/model.h"

#include "nn/operators.h"

#include <cmath>

namespace sd {
namespace {

const std::string kRefiner = "txtfusion.refiner_blocks.", kProjector = "txtfusion.projector.weight";

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
    w.begin_group("what is before the blocks");
    first_ = w.linear("first");
    time_in_ = w.linear("tmlp.0");
    time_out_ = w.linear("tmlp.2");
    time_projection_ = w.linear("tproj.1");
    first_group_ = w.group();
    const auto text_blocks = [&](const std::string & name, int count, std::vector<size_t> & groups) {
        std::vector<Block> out;
        for (int i = 0; i < count; ++i) {
            w.begin_group(name + std::to_string(i));
            if (name == kRefiner && i == 0) projector_ = w.vector(kProjector);
            out.push_back(block(w, name + std::to_string(i) + ".", false));
            groups.push_back(w.group());
        }
        return out;
    };
    layerwise_ = text_blocks("txtfusion.layerwise_blocks.", config.layerwise_blocks, layerwise_groups_);
    refiner_ = text_blocks(kRefiner, config.refiner_blocks, refiner_groups_);
    w.begin_group("the end of the text part");
    if (refiner_.empty()) projector_ = w.vector(kProjector);
    text_norm_ = w.vector("txtmlp.0.scale", 1.0f);
    text_in_ = w.linear("txtmlp.1");
    text_out_ = w.linear("txtmlp.3");
    text_group_ = w.group();
    for (int i = 0; i < config.layers; ++i) {
        const std::string name = "blocks." + std::to_string(i);
        w.begin_group(name, true);
        blocks_.push_back(block(w, name + ".", true));
        block_groups_.push_back(w.group());
    }
    w.begin_group("what is after the blocks");
    last_norm_ = w.vector("last.norm.scale", 1.0f);
    last_modulation_ = w.vector("last.modulation.lin");
    last_ = w.linear("last.linear");
    last_group_ = w.group();
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

// Every token is a sequence of its states.
ggml_tensor * Krea2::text_values(Graph & g, const Values & v) const {
    if (v.count("context") == 0) return v.at("x");
    ggml_tensor * context = v.at("context");
    return ggml_reshape_3d(g.ctx(), context, config_.text_dim, config_.text_layers, context->ne[1]);
}

// The projector weighs the states: with them innermost, one product.
ggml_tensor * Krea2::project(Graph & g, ggml_tensor * x) const {
    ggml_context * ctx = g.ctx();
    const int64_t dim = x->ne[0], states = x->ne[1], tokens = x->ne[2];
    x = ggml_cont(ctx, ggml_permute(ctx, x, 1, 0, 2, 3));
    x = ggml_mul_mat(ctx, ggml_reshape_2d(ctx, projector_, states, 1),
                     ggml_reshape_2d(ctx, x, states, dim * tokens));
    return ggml_reshape_2d(ctx, x, dim, tokens);
}

void Krea2::text_end(Graph & g, Values & v) const {
    ggml_tensor * x = text_values(g, v);
    if (refiner_.empty()) x = project(g, x);
    g.watch("txtfusion", x);
    x = linear(g, text_in_, rms_norm(g, x, text_norm_, Krea2Config::norm_eps));
    x = linear(g, text_out_, ggml_gelu(g.ctx(), x));
    g.watch("txtmlp", x);
    v = {{"text", x}};
}

std::vector<Stage> Krea2::text_stages() const {
    std::vector<Stage> stages;
    for (size_t i = 0; i < layerwise_.size(); ++i) {
        stages.push_back({layerwise_groups_[i], [this, i](Graph & g, Values & v) {
                              v = {{"x", text_block(g, layerwise_[i], text_values(g, v))}};
                          }});
    }
    for (size_t i = 0; i < refiner_.size(); ++i) {
        stages.push_back({refiner_groups_[i], [this, i](Graph & g, Values & v) {
                              ggml_tensor * x = text_values(g, v);
                              v = {{"x", text_block(g, refiner_[i], i == 0 ? project(g, x) : x)}};
                          }});
    }
    stages.push_back({text_group_, [this](Graph & g, Values & v) { text_end(g, v); }});
    return stages;
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

void Krea2::begin(Graph & g, Values & v) const {
    ggml_context * ctx = g.ctx();
    ggml_tensor * temb = linear(g, time_out_, ggml_gelu(ctx, linear(g, time_in_, v.at("timestep"))));
    ggml_tensor * tvec = linear(g, time_projection_, ggml_gelu(ctx, temb));
    ggml_tensor * image = linear(g, first_, v.at("patches"));
    g.watch("tmlp", temb);
    g.watch("tproj", tvec);
    g.watch("first", image);
    v = {{"x", ggml_concat(ctx, v.at("text"), image, 1)},
         {"temb", temb},
         {"tvec", tvec},
         {"rope", v.at("rope")},
         {"patches", v.at("patches")}};
}

void Krea2::end(Graph & g, Values & v) const {
    ggml_context * ctx = g.ctx();
    ggml_tensor *x = v.at("x"), *temb = v.at("temb");
    // Only image tokens are of interest from here on. The last layer is modulated by the time embedding
    // itself, not by its projection.
    const int64_t d = config_.features, patches = v.at("patches")->ne[1], tokens = x->ne[1] - patches;
    x = ggml_view_2d(ctx, x, d, patches, x->nb[1], size_t(tokens) * x->nb[1]);
    ggml_tensor * scale = ggml_add(ctx, temb, part(g, last_modulation_, d, 0));
    ggml_tensor * shift = ggml_add(ctx, temb, part(g, last_modulation_, d, 1));
    x = modulate(g, rms_norm(g, x, last_norm_, Krea2Config::norm_eps), scale, shift);
    x = linear(g, last_, x);
    g.watch("last", x);
    v = {{"velocity", x}};
}

std::vector<Stage> Krea2::velocity_stages() const {
    std::vector<Stage> stages = {{first_group_, [this](Graph & g, Values & v) { begin(g, v); }}};
    for (size_t i = 0; i < blocks_.size(); ++i) {
        stages.push_back({block_groups_[i], [this, i](Graph & g, Values & v) {
                              ggml_tensor *& x = v.at("x");
                              x = main_block(g, blocks_[i], x, v.at("tvec"), v.at("rope"));
                              g.watch("block" + std::to_string(i), x);
                          }});
    }
    stages.push_back({last_group_, [this](Graph & g, Values & v) { end(g, v); }});
    return stages;
}

size_t Krea2::most_nodes() const {
    constexpr size_t kPerBlock = 80, kOthers = 128;
    return (layerwise_.size() + refiner_.size() + blocks_.size()) * kPerBlock + kOthers + correction_nodes_;
}

} // namespace sd
