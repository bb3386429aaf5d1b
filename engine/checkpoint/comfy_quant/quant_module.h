// Quantized modules of ComfyUI checkpoints: which layers they are, in which format, with which tensors.
// Settings come from `M.comfy_quant` and from the header's `_quantization_metadata`, which wins. Everything a
// layer needs is checked here, so that code behind it can trust shapes, types, groups and values. A module
// that cannot be run as the file says is an Error; none is loaded as if it were a float layer, not rotated,
// or with a default scale. Values of scales (NaN, infinity) are not looked at here, as they can be a tenth of
// the file; whoever loads them does.
#pragma once

#include "base/build.h"
#include "checkpoint/checkpoint.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sd {

enum class QuantFormat {
    int8_tensorwise,
    convrot_w4a4,
    asym_w4a8_int8,
    float8_e4m3fn, // these two with or without a scale; converted to a float type when loaded
    float8_e5m2,
};

const char * quant_format_name(QuantFormat format); // as files spell it
bool is_float8(QuantFormat format);

enum class QuantUse { linear, embedding, convolution };

struct QuantModule {
    std::string name; // without ".weight"
    QuantFormat format;
    QuantUse use;
    int group;           // rotation group; 1: not rotated
    int64_t n, k;        // logical: output and input features (rows and columns of a table), without kernels
    bool full_precision; // the file asks for float products (`full_precision_matrix_mult`)

    // Tensors of the checkpoint, borrowed from it; NULL where the format has none.
    const TensorInfo * weight;
    StoredType codes;         // what the weight's bytes are: I8, F8_E4M3, F8_E5M2; a file may label them U8
    const TensorInfo * scale; // W4A4: N elements; int8: N or one; float8: N, one or NULL
    const TensorInfo * relative; // W4A8: [N, K / 16]
    const TensorInfo * channel;  // W4A8: [N]
    const TensorInfo * codebook; // W4A8: [16]; NULL: the levels are -8 to 7
    const TensorInfo * bias;     // N elements
    std::string settings_from;   // "tensor", "header", "names" (scaled FP8), "option", for inspect
};

struct QuantModules {
    std::vector<QuantModule> modules;         // sorted by name
    std::vector<const TensorInfo *> consumed; // markers and companions, sorted by name: no weights of a model
    std::vector<std::string> warnings;        // blank markers beside float weights and so on, each a sentence
};

struct QuantOptions {
    // The rotation group (1: not rotated) of I8 weights that have scales and no settings. 0: such weights are
    // an Error that says what is missing.
    int assume_int8_group = 0;
    // False in a build against a ggml without operator extensions, which cannot run the INT8 and INT4
    // formats.
    bool has_operators = kHasOperators;
};

QuantModules find_quant_modules(const Checkpoint & checkpoint, const QuantOptions & options = {});

} // namespace sd
