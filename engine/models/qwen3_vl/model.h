// Qwen3-VL's language model as a text encoder: states of the residual stream after some of its layers.
#pragma once

#include "models/qwen3_vl/config.h"
#include "nn/layers.h"
#include "nn/stage.h"
#include "nn/weights.h"

#include <cstdint>
#include <vector>

namespace sd {

class Qwen3Vl {
  public:
    // Describes the weights up to the last tapped layer; they are loaded by their owner.
    Qwen3Vl(Weights & weights, const Qwen3VlConfig & config);

    const Qwen3VlConfig & config() const { return config_; }

    // The layers, which refer to this model:
    //   x       F32 [hidden, n], embeddings
    //   rope    F32 [2, 2, head_dim / 2, n], for sd.rope_apply.v1
    //   mask    F16 [n, n]
    // Result:
    //   states  F32 [hidden * taps, n]: for each token the tapped states, one after the other
    std::vector<Stage> stages() const;

    size_t most_nodes() const { return layers_.size() * 64 + 128 + correction_nodes_; }

    // What the graph reads. Rows of the token table come from the file, whatever they are stored as; an id
    // beyond it is an Error.
    std::vector<float> embeddings(const std::vector<int32_t> & ids) const;
    std::vector<float> rope(int64_t tokens) const;
    static std::vector<ggml_fp16_t> causal_mask(int64_t tokens);

  private:
    struct Layer {
        ggml_tensor *input_norm, *post_norm, *q_norm, *k_norm;
        Linear q, k, v, out;
        SwiGlu mlp;
        size_t group; // of its weights
    };

    ggml_tensor * layer(Graph & g, const Layer & l, const Values & v) const;

    Qwen3VlConfig config_;
    const ModelTable & table_;
    std::vector<Layer> layers_;
    size_t correction_nodes_ = 0;
};

} // namespace sd
