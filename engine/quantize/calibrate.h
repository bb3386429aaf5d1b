// Second moments of what layers read while the project's own pipeline makes pictures of some prompts.
#pragma once

#include "adapters/adapter.h"
#include "checkpoint/checkpoint.h"
#include "quantize/feedback.h"
#include "quantize/selection.h"
#include "quantize/write.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sd {

struct CalibrationRequest {
    std::vector<std::string> prompts; // empty: nothing is calibrated
    ModelPaths files;                 // the whole pipeline, with the layers under the names of the checkpoint
    std::string tokenizer;
    int steps = 0, width = 0, height = 0; // 0: as the model's file advises; else 8, 512 and 512
    std::optional<float> cfg_scale;       // nothing: as the file advises, else 1
    int64_t seed = 42;                    // of the first prompt, one more for each of the next
    uint64_t memory = uint64_t(2) << 30;  // bytes for moments that are gathered together
};

// Layers that read the same values in the same basis.
struct MomentsOfLayers {
    std::vector<size_t> layers; // indices into what gather was asked for
    SecondMoments moments;
};

class Calibrator {
  public:
    // adapters: as they are merged. The request must live longer.
    Calibrator(const CalibrationRequest & request, const std::vector<AdapterUse> & adapters, int threads,
               QuantizeProgress progress);

    // Runs all prompts and returns what the layers, by their order in the graphs, read: of as many as fit
    // into the memory, one at least. Empty: none of them was run. The same for any number of threads. Throws
    // Error.
    std::vector<MomentsOfLayers> gather(const std::vector<const ChosenLayer *> & layers);

  private:
    const CalibrationRequest & request_;
    const std::vector<AdapterUse> & adapters_;
    int threads_;
    QuantizeProgress progress_;
    int passes_ = 0;
};

// The parts of it that --calibrate can say wrong; an Error.
void check_calibration(const CalibrationRequest & request);

} // namespace sd
