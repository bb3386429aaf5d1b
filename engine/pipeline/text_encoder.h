// From a prompt to what the diffusion model reads of it.
#pragma once

#include "models/qwen3_vl/model.h"
#include "pipeline/runner.h"
#include "pipeline/staged_model.h"
#include "pipeline/watch.h"
#include "text/tokenizer.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sd {

// Features of a prompt's tokens, without those of the template before it.
struct TextContext {
    int64_t tokens, features;  // features: of all states of a token
    std::vector<float> values; // [tokens][features]
};

class TextEncoder {
  public:
    // Describes and loads the weights. runners: of each memory of the weights. All must live longer.
    TextEncoder(const ModelTable & table, const std::vector<Runner *> & runners,
                const std::string & tokenizer, const Weights::Options & options,
                const ParallelOptions & loading);

    const Qwen3VlConfig & config() const { return config_; }
    bool always_there() const { return weights_.always_there(); }

    // Where weights are not always there: gives the device's memory back until they are needed again.
    void rest() { layers_.rest(); }

    // name: of this prompt in dumps ("cond", "uncond").
    TextContext encode(const std::string & prompt, const std::string & name, Watch & watch,
                       const std::atomic<bool> * cancel);

    // The same for tokens and weights that are known, the template's included.
    TextContext encode_tokens(const std::vector<int32_t> & ids, const std::vector<float> & weights,
                              const std::atomic<bool> * cancel);

  private:
    struct Tokens {
        std::vector<int32_t> ids;
        std::vector<float> weights;
    };
    Tokens tokens_of(const std::string & prompt) const;

    Qwen3VlConfig config_;
    Weights weights_;
    Qwen3Vl model_;
    Tokenizer tokenizer_;
    StagedModel layers_;
};

} // namespace sd
