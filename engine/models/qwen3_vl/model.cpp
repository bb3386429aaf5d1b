#include "models/qwen3_vl/model.h"

#include "checkpoint/values/dequantize.h"
#include "checkpoint/values/read_values.h"
#include "nn/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace sd {

Qwen3Vl::Qwen3Vl(Weights & w, const Qwen3VlConfig & config) : config_(config), table_(w.table()) {
    const std::vector<int> taps = config.taps();
    for (int i = 0; i < (taps.empty() ? 0 : taps.back()); ++i) {
        const std::string name = "layers." + std::to_string(i) + ".";
        w.begin_group("layers." + std::to_string(i), true);
        const std::string a = name + "self_attn.", m = name + "mlp.";
        const std::vector<Linear> in = w.linears({a + "q_proj", a + "k_proj", a + "v_proj"});
        const std::vector<Linear> wide = w.linears({m + "gate_proj", m + "up_proj"});
        layers_.push_back({w.vector(name + "input_layernorm.weight"),
                           w.vector(name + "post_attention_layernorm.weight"),
                           w.vector(a + "q_norm.weight"),
                           w.vector(a + "k_norm.weight"),
                           in[0],
                           in[1],
                           in[2],
                           w.linear(a + "o_proj"),
                           {wide[0], wide[1], w.linear(m + "down_proj")},
                           w.group()});
    }
    correction_nodes_ = w.correction_nodes();
}

ggml_tensor * Qwen3Vl::layer(Graph & g, const Layer & l, const Values & v) const {
    ggml_tensor *x = v.at("x"), *rope = v.at("rope"), *mask = v.at("mask");
    ggml_context * ctx = g.ctx();
    const int64_t head_dim = config_.head_dim;
    const float eps = config_.norm_eps;
    ggml_tensor * y = rms_norm(g, x, l.input_norm, eps);
    const auto rotated = [&](const Linear & projection, ggml_tensor * norm) {
        ggml_tensor * heads = rms_norm(g, split_heads(g, linear(g, projection, y), head_dim), norm, eps);
        return rope_apply(g, heads, rope, false);
    };
    ggml_tensor * q = rotated(l.q, l.q_norm);
    ggml_tensor * k = rotated(l.k, l.k_norm);
    ggml_tensor * values = split_heads(g, linear(g, l.v, y), head_dim);
    ggml_tensor * a = attention(g, q, k, values, mask, 1.0f / std::sqrt(float(head_dim)));
    x = ggml_add(ctx, x, linear(g, l.out, a));
    return ggml_add(ctx, x, swiglu(g, l.mlp, rms_norm(g, x, l.post_norm, eps)));
}

std::vector<Stage> Qwen3Vl::stages() const {
    const std::vector<int> taps = config_.taps();
    std::vector<Stage> stages;
    for (size_t i = 0; i < layers_.size(); ++i) {
        const bool tapped = std::find(taps.begin(), taps.end(), int(i) + 1) != taps.end();
        stages.push_back({layers_[i].group, [this, i, tapped](Graph & g, Values & v) {
                              ggml_tensor * x = layer(g, layers_[i], v);
                              v["x"] = x;
                              if (tapped) {
                                  ggml_tensor *& out = v["states"];
                                  out = out == nullptr ? x : ggml_concat(g.ctx(), out, x, 0);
                              }
                              if (i + 1 == layers_.size()) v = {{"states", v.at("states")}};
                          }});
    }
    return stages;
}

std::vector<float> Qwen3Vl::embeddings(const std::vector<int32_t> & ids) const {
    const ModelTensor & tensor = table_.get("embed_tokens.weight");
    std::vector<float> out(ids.size() * size_t(config_.hidden));
    std::optional<Dequantizer> quantized;
    if (tensor.quant != nullptr) quantized.emplace(table_.checkpoint(), *tensor.quant);
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= config_.vocab) {
            throw table_.error(tensor, "has no row for token " + std::to_string(ids[i]),
                               "the vocabulary belongs to another model");
        }
        float * row = out.data() + i * size_t(config_.hidden);
        if (quantized)
            quantized->read(ids[i], 1, row);
        else
            read_values(table_.checkpoint(), *tensor.info, GGML_TYPE_F32, {ids[i], 1}, row, {.threads = 1});
    }
    return out;
}

std::vector<float> Qwen3Vl::rope(int64_t tokens) const {
    std::vector<float> out;
    const int64_t half = config_.head_dim / 2;
    out.reserve(size_t(tokens * half * 4));
    for (int64_t position = 0; position < tokens; ++position) {
        for (int64_t i = 0; i < half; ++i) {
            const double angle =
                double(position) * std::pow(double(config_.rope_theta), -double(i) / double(half));
            const float c = float(std::cos(angle)), s = float(std::sin(angle));
            out.insert(out.end(), {c, -s, s, c});
        }
    }
    return out;
}

std::vector<ggml_fp16_t> Qwen3Vl::causal_mask(int64_t tokens) {
    const ggml_fp16_t hidden = ggml_fp32_to_fp16(-std::numeric_limits<float>::infinity());
    std::vector<ggml_fp16_t> mask(size_t(tokens * tokens), ggml_fp32_to_fp16(0.0f));
    for (int64_t row = 0; row < tokens; ++row) {
        for (int64_t column = row + 1; column < tokens; ++column)
            mask[size_t(row * tokens + column)] = hidden;
    }
    return mask;
}

} // namespace sd
