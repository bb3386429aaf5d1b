#include "models/qwen3_vl/config.h"

#include "gguf.h"

#include <cmath>

namespace sd {
namespace {

const gguf_context * pairs_of(const ModelTable & table) {
    if (table.tensors().empty()) return nullptr;
    const TensorInfo & any = *table.tensors().begin()->second.info;
    return table.checkpoint().files()[size_t(any.file)].container.pairs.get();
}

// A positive float under a key, whatever the architecture is called; `otherwise` where there is none.
float positive(const ModelTable & table, const std::string & key, float otherwise) {
    const gguf_context * pairs = pairs_of(table);
    if (pairs == nullptr) return otherwise;
    const int64_t id = gguf_find_key(pairs, (qwen3_architecture(table) + key).c_str());
    if (id < 0) return otherwise;
    if (gguf_get_kv_type(pairs, id) == GGUF_TYPE_FLOAT32) {
        const float value = gguf_get_val_f32(pairs, id);
        if (std::isfinite(value) && value > 0.0f) return value;
    }
    const TensorInfo & any = *table.tensors().begin()->second.info;
    throw Error({"E_METADATA",
                 table.checkpoint().file_of(any).path(),
                 {},
                 "the value of " + key.substr(1) + " is no positive number",
                 {}});
}

} // namespace

std::vector<int> Qwen3VlConfig::taps() const {
    std::vector<int> out;
    for (int k = 2; k <= 35 && k <= layers; k += 3) out.push_back(k);
    return out;
}

bool is_qwen3(const ModelTable & table) {
    return table.find("embed_tokens.weight") != nullptr &&
           table.find("layers.0.self_attn.q_norm.weight") != nullptr;
}

std::string qwen3_architecture(const ModelTable & table) {
    const gguf_context * pairs = pairs_of(table);
    if (pairs == nullptr) return {};
    const int64_t id = gguf_find_key(pairs, "general.architecture");
    if (id < 0 || gguf_get_kv_type(pairs, id) != GGUF_TYPE_STRING) return {};
    return gguf_get_val_str(pairs, id);
}

Qwen3VlConfig qwen3_vl_config(const ModelTable & table) {
    const std::string attention = "layers.0.self_attn.";
    const auto heads = [&](const std::string & name, int64_t head_dim) {
        const int64_t rows = table.size(name, 2, 0);
        if (rows % head_dim == 0) return rows / head_dim;
        throw table.error(table.get(name), "has " + std::to_string(rows) +
                                               " rows, which is no multiple of the head size " +
                                               std::to_string(head_dim));
    };
    Qwen3VlConfig c = {};
    c.vocab = table.size("embed_tokens.weight", 2, 0);
    c.hidden = table.size("embed_tokens.weight", 2, 1);
    c.head_dim = table.size(attention + "q_norm.weight", 1, 0);
    if (c.head_dim % 2 != 0) {
        throw table.error(table.get(attention + "q_norm.weight"), "makes heads of an odd number of channels");
    }
    c.heads = heads(attention + "q_proj.weight", c.head_dim);
    c.kv_heads = heads(attention + "k_proj.weight", c.head_dim);
    if (c.heads % c.kv_heads != 0) {
        throw table.error(table.get(attention + "k_proj.weight"),
                          "has " + std::to_string(c.kv_heads) + " heads, which do not divide the " +
                              std::to_string(c.heads) + " query heads");
    }
    c.mlp = table.size("layers.0.mlp.gate_proj.weight", 2, 0);
    c.layers = table.count_blocks("layers.");
    c.rope_theta = positive(table, ".rope.freq_base", c.rope_theta);
    c.norm_eps = positive(table, ".attention.layer_norm_rms_epsilon", c.norm_eps);
    return c;
}

std::vector<ExpectedTensor> qwen3_vl_tensors(const Qwen3VlConfig & c) {
    const std::vector<int> taps = c.taps();
    const int needed = taps.empty() ? c.layers : taps.back();
    std::vector<ExpectedTensor> out;
    out.push_back({"embed_tokens.weight", {c.vocab, c.hidden}});
    for (int i = 0; i < c.layers; ++i) {
        const std::string layer = "layers." + std::to_string(i) + ".";
        const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
        const bool optional = i >= needed;
        out.push_back({layer + "input_layernorm.weight", {c.hidden}, optional});
        out.push_back({layer + "self_attn.q_proj.weight", {q, c.hidden}, optional});
        out.push_back({layer + "self_attn.k_proj.weight", {kv, c.hidden}, optional});
        out.push_back({layer + "self_attn.v_proj.weight", {kv, c.hidden}, optional});
        out.push_back({layer + "self_attn.q_norm.weight", {c.head_dim}, optional});
        out.push_back({layer + "self_attn.k_norm.weight", {c.head_dim}, optional});
        out.push_back({layer + "self_attn.o_proj.weight", {c.hidden, q}, optional});
        out.push_back({layer + "post_attention_layernorm.weight", {c.hidden}, optional});
        out.push_back({layer + "mlp.gate_proj.weight", {c.mlp, c.hidden}, optional});
        out.push_back({layer + "mlp.up_proj.weight", {c.mlp, c.hidden}, optional});
        out.push_back({layer + "mlp.down_proj.weight", {c.hidden, c.mlp}, optional});
    }
    out.push_back({"norm.weight", {c.hidden}, true});
    out.push_back({"lm_head.weight", {c.vocab, c.hidden}, true});
    return out;
}

} // namespace sd
