// A quantized file before it is written: its header, and where the bytes of each tensor go.
#pragma once

#include "convert/plan.h"
#include "quantize/selection.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sd {

// A tensor that keeps its type.
struct CopyPlan {
    std::string name; // in the new file
    const TensorInfo * source;
    uint64_t offset; // in the new file
    uint64_t bytes;
    const std::vector<Change> * changes = nullptr; // of adapters; NULL: the bytes are the source's
};

// A layer with the places of its tensors in the new file; 0 where the format has none.
struct LayerPlan {
    const ChosenLayer * layer;
    std::string name;     // of the module in the new file
    std::string settings; // JSON
    uint64_t weight = 0, scale = 0, relative = 0, channel = 0, codebook = 0, marker = 0;
    uint64_t bytes = 0; // of all of them
};

struct QuantizePlan {
    std::string start;  // everything before the data
    uint64_t bytes = 0; // of the file
    std::vector<CopyPlan> copies;
    std::vector<LayerPlan> layers;
    // Both in the order in which they are read: copies as their index, layers as -1 - index.
    std::vector<int64_t> order;
};

// Names are those of the file, or of the checkpoint's table where components are merged. header_settings: the
// settings of quantized layers are in the header too. `selection` must live longer.
QuantizePlan plan_quantization(const Checkpoint & checkpoint, const QuantModules & quants,
                               const Selection & selection, bool header_settings);

// Bytes of a layer's tensors in the format.
uint64_t layer_bytes(LayerFormat format, int group, int64_t n, int64_t k);

// Settings as the official files have them, byte for byte.
std::string settings_json(LayerFormat format, int group);

} // namespace sd
