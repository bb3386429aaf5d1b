// Which layers of a checkpoint are quantized, and how.
#pragma once

#include "adapters/change.h"
#include "checkpoint/checkpoint.h"
#include "quantize/codebook.h"
#include "quantize/row_kernels.h"
#include "quantize/rules.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sd {

struct SelectionRequest {
    std::string format; // of what a preset or `include` selects; "auto": candidates for them
    int group = 0;      // of rotated layers; 0: the largest of 256, 64, 16 and 4 that divides the inputs
    // "": that of the model found in the files. "none": nothing is selected but by `include` and rules.
    std::string preset;
    std::string include, exclude; // lists of patterns, see patterns.h
    std::string rules_file;
};

// What a layer could become.
struct Candidate {
    std::optional<LayerFormat> format; // nothing: it stays as it is
    int group = 1;
    Codebook book = kGaussianLevels; // of w4a8
    ErrorSums sums = {};             // when it was measured
    uint64_t bytes = 0;              // of its tensors in the new file
};

struct ChosenLayer {
    std::string name; // of the module, as the table has it
    const TensorInfo * weight;
    const QuantModule * module; // of a scaled 8-bit float layer; NULL: the values as they are
    LayerFormat format;
    int group; // 1: not rotated
    int64_t n, k;
    std::string why;                 // "preset krea2", "--include", "rule in line 3"
    Codebook book = kGaussianLevels; // of w4a8
    // Among which `format`, `group` and `book` are chosen before anything is planned; fewer than two: they
    // are.
    std::vector<Candidate> candidates = {};
    const std::vector<Change> * changes = nullptr; // of adapters, to the values; NULL: none
};

// A matrix that stays as it is.
struct KeptLayer {
    std::string name;
    const TensorInfo * weight;
    std::string why; // "preset krea2 (first*)", "--exclude", ...
};

// Of the layer's tensors in the file it comes from.
uint64_t bytes_of(const ChosenLayer & layer);

struct Selection {
    std::vector<ChosenLayer> layers; // by name, as the table has them
    std::vector<KeptLayer> kept;
    std::vector<std::string> presets; // "Krea 2: krea2"
    std::vector<std::string>
        warnings; // patterns that match nothing, layers whose sizes do not fit; sentences
};

// Rules go first, in their order; then `exclude`, `include`, the preset. What is quantized already is an
// Error where it is selected. So is a format that a layer named by a rule or `include` cannot have; layers of
// a preset stay as they are then, with a warning.
Selection select_layers(const Checkpoint & checkpoint, const QuantModules & quants,
                        const SelectionRequest & request);

} // namespace sd
