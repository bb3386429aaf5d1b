// Krea 2's transformer as graphs. The text part depends on the prompt alone and runs once; the rest runs in
// every step.
#pragma once

#include "models/krea2/config.h"
#include "nn/layers.h"
#include "nn/stage.h"
#include "nn/weights.h"

#include <vector>

namespace sd {

class Krea2 {
  public:
    // Describes its weights; they are loaded by their owner.
    Krea2(Weights & weights, const Krea2Config & config);

    const Krea2Config & config() const { return config_; }

    // Stages refer to this model. Those of the text part are its blocks and what is after them:
    //   context   F32 [text_layers * text_dim, T], the states of each token one after the other
    // Result:
    //   text      F32 [features, T], the text tokens of the others
    std::vector<Stage> text_stages() const;

    // What is before the blocks, each block, and what is after them:
    //   patches   F32 [in_channels * 4, n]
    //   timestep  F32 [timestep_dim]
    //   text      F32 [features, T]
    //   rope      F32 [2, 2, head_dim / 2, T + n], for sd.rope_apply.v1
    // Result:
    //   velocity  F32 [out_channels * 4, n], patches
    std::vector<Stage> velocity_stages() const;

    // Enough for either graph.
    size_t most_nodes() const;

  private:
    struct Attention {
        Linear q, k, v, gate, out;
        ggml_tensor *q_norm, *k_norm;
    };
    struct Block {
        ggml_tensor *prenorm, *postnorm;
        ggml_tensor * modulation; // [6 * features]; NULL in the text part
        Attention attention;
        SwiGlu mlp;
    };

    ggml_tensor * text_values(Graph & g, const Values & v) const;
    ggml_tensor * project(Graph & g, ggml_tensor * x) const;
    void text_end(Graph & g, Values & v) const;
    void begin(Graph & g, Values & v) const;
    void end(Graph & g, Values & v) const;
    Block block(Weights & weights, const std::string & name, bool modulated) const;
    ggml_tensor * attend(Graph & g, const Attention & a, ggml_tensor * x, int64_t head_dim,
                         ggml_tensor * rope) const;
    ggml_tensor * text_block(Graph & g, const Block & b, ggml_tensor * x) const;
    ggml_tensor * main_block(Graph & g, const Block & b, ggml_tensor * x, ggml_tensor * tvec,
                             ggml_tensor * rope) const;

    Krea2Config config_;
    Linear first_, time_in_, time_out_, time_projection_, text_in_, text_out_, last_;
    ggml_tensor *projector_, *text_norm_, *last_norm_, *last_modulation_;
    std::vector<Block> layerwise_, refiner_, blocks_;
    // Of the weights of each stage.
    size_t first_group_, text_group_, last_group_;
    std::vector<size_t> layerwise_groups_, refiner_groups_, block_groups_;
    size_t correction_nodes_ = 0;
};

} // namespace sd
