// The diffusion model at work: a prompt's text tokens once, then velocities of latents.
#pragma once

#include "models/krea2/model.h"
#include "pipeline/runner.h"
#include "pipeline/staged_model.h"
#include "pipeline/text_encoder.h"
#include "pipeline/watch.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sd {

class Diffusion {
  public:
    // Describes and loads the weights. runners: of each memory of the weights. All must live longer.
    Diffusion(const ModelTable & table, const std::vector<Runner *> & runners,
              const Weights::Options & options, const ParallelOptions & loading);

    const Krea2Config & config() const { return config_; }
    // By device.
    uint64_t bytes_allocated(size_t device) const { return weights_.bytes_allocated(device); }
    uint64_t bytes_mapped(size_t device) const { return weights_.bytes_mapped(device); }
    bool always_there() const { return weights_.always_there(); }

    // A prompt as the model's own tokens.
    struct Prompt {
        std::string name; // in dumps
        int64_t tokens;
        std::vector<float> values; // [tokens][width of the model]
    };
    Prompt prepare(const TextContext & context, const std::string & name, Watch & watch,
                   const std::atomic<bool> * cancel);

    // Gets ready for steps of this size, where weights are not always there.
    void plan_steps(int64_t text_tokens, int64_t height, int64_t width, const std::atomic<bool> * cancel);

    // Where weights are not always there: gives the device's memory back until they are needed again, as they
    // were planned or, after `rest`, as it is decided then.
    void pause();
    void rest();

    // Working memory of a step, without taking it. Only where weights are always there, as the next one.
    std::vector<uint64_t> memory_of_step(int64_t text_tokens, int64_t height, int64_t width);

    // Which implementation each node of a step gets, and why not another: "json" when the name ends so.
    std::string explain_step(int64_t text_tokens, int64_t height, int64_t width, bool json);

    // The first inner tensor of a step that has a value which is not finite; "" when all are.
    std::string find_not_finite(const Prompt & prompt, const std::vector<float> & latent, int64_t height,
                                int64_t width, float sigma, const std::atomic<bool> * cancel);

    // The velocity of a latent [channels][height][width] at sigma. deep: names of inner tensors begin with
    // it; empty: they are not watched.
    std::vector<float> velocity(const Prompt & prompt, const std::vector<float> & latent, int64_t height,
                                int64_t width, float sigma, const std::string & deep, Watch & watch,
                                const std::atomic<bool> * cancel);

  private:
    HostValues step_values(int64_t text_tokens, int64_t height, int64_t width) const;
    HostValues run_step(const Prompt & prompt, const std::vector<float> & latent, int64_t height,
                        int64_t width, float sigma, const StagedModel::Run & run);

    Krea2Config config_;
    Weights weights_;
    Krea2 model_;
    StagedModel text_, steps_; // of the same weights: at most one of them has some in memory
};

} // namespace sd
