// What a model file is, from its headers: containers, models, formats of its layers, types, and what is odd.
// No tensor data is read except the settings of quantized modules.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "models/families.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sd {

// A matrix or convolution of the model.
struct InspectedLayer {
    std::string name;   // without ".weight"
    std::string format; // "int8_tensorwise" and so on, or the type of ordinary weights
    int group;          // of the rotation; 1: quantized and not rotated; 0: not a quantized format
    std::vector<int64_t> shape;
    uint64_t bytes; // of the weight and its scales
};

struct InspectReport {
    struct File {
        std::string path;
        std::string container;
        uint64_t size;
        size_t tensors;
        std::string architecture; // GGUF's general.architecture
    };
    // Layers of one format and group, or tensors of one type.
    struct Row {
        std::string format;
        int group;
        size_t count;
        int64_t parameters;
        uint64_t bytes;
    };

    std::vector<File> files;
    std::vector<FoundModel> models;
    std::vector<Row> formats;           // of layers, largest first
    std::vector<Row> types;             // of all tensors as stored, largest first
    std::vector<InspectedLayer> layers; // sorted by name
    int64_t parameters;                 // without scales and other companions
    uint64_t bytes;                     // of all tensors
    std::vector<std::string> warnings;
    std::optional<Error> problem; // why it can't be run: the rest of the report is what is known nevertheless
};

// Throws Error when a file cannot be read at all.
InspectReport inspect(const Checkpoint & checkpoint, const QuantOptions & options);

// For people. all_layers: every layer in a line of its own.
std::string inspect_text(const InspectReport & report, bool all_layers);

// One JSON object, described in docs/inspect.md.
std::string inspect_json(const InspectReport & report);

} // namespace sd
