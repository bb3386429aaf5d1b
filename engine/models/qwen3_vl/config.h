// The language model of Qwen3-VL as a text encoder: sizes, names and shapes of its tensors. Sizes come from
// the tensors; what tensors do not show comes from a GGUF's pairs, else from the published model.
#pragma once

#include "models/common/model_table.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct Qwen3VlConfig {
    int64_t hidden, vocab, head_dim, heads, kv_heads, mlp;
    int layers;
    float rope_theta = 5e6f;
    float norm_eps = 1e-6f;

    // States of the residual stream, counted in layers that have run, that make up a token's features: those
    // of 2, 5, 8 ... 35 that the model has.
    std::vector<int> taps() const;
};

// GGUF names and all prefixes become the Hugging Face names without prefix: "layers.0.mlp.up_proj.weight".
// Tensors of the vision part begin with "visual.".
std::string qwen3_vl_name(std::string_view name);

bool is_qwen3(const ModelTable & table);

// What a GGUF says it is ("qwen3vl"); empty for other containers and when it says nothing.
std::string qwen3_architecture(const ModelTable & table);

// Throws Error when sizes are missing or do not belong together.
Qwen3VlConfig qwen3_vl_config(const ModelTable & table);

// The layers up to the last tap are needed; the others, the final norm and the head are optional.
std::vector<ExpectedTensor> qwen3_vl_tensors(const Qwen3VlConfig & config);

} // namespace sd
