// What quantizing did to each layer, for people and for programs.
#pragma once

#include "adapters/adapter.h"
#include "base/error.h"
#include "quantize/choice.h"
#include "quantize/rules.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sd {

struct QuantizedLayer {
    std::string name; // of the module in the new file
    LayerFormat format;
    int group; // 1: not rotated
    int64_t n, k;
    std::string from;               // the type it had
    std::string why;                // it was chosen
    double error;                   // |decoded - original| / |original|, Euclidean norms
    std::optional<double> verified; // the same, of the file that was read again
    int64_t nonfinite;              // values that count as 0
    uint64_t bytes_before, bytes_after;
    bool own_levels; // w4a8: not those that all have
    // Of calibrated layers: |error| / |output| over the activations of the prompts, and what it would be
    // without calibration.
    struct Outputs {
        double error, plain;
    };
    std::optional<Outputs> outputs = {};
};

struct UnchangedLayer {
    std::string name;
    std::string type;
    std::vector<int64_t> shape;
    std::string why;
};

struct QuantizeReport {
    std::string output;
    std::vector<std::pair<std::string, uint64_t>> inputs; // files and their sizes
    uint64_t bytes = 0;                                   // of the output
    double seconds = 0;
    std::vector<std::string> presets;
    std::vector<QuantizedLayer> layers; // in the order of the files
    std::vector<UnchangedLayer> kept;   // matrices and convolutions
    std::vector<std::string> warnings;
    double error = 0; // of all quantized weights together
    double fail_above = 0;
    size_t calibration_prompts = 0;
    bool scale_search = false;
    std::vector<AdapterNote> adapters; // that were merged before anything was quantized
    std::optional<Choice> choice;      // of the format "auto"
    std::optional<Error> problem;

    std::vector<const QuantizedLayer *> worst(size_t most) const; // largest errors first
};

// A table for people.
std::string report_text(const QuantizeReport & report);

// One JSON object, described in docs/quantize.md.
std::string report_json(const QuantizeReport & report);

// Limits of the histogram's bins; the last bin has no upper one.
extern const std::vector<double> kErrorBins;
std::vector<size_t> histogram(const QuantizeReport & report); // kErrorBins.size() + 1 counts

} // namespace sd
