// Dense layers, whatever their weights are stored as.
#pragma once

#include "nn/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sd {

// What adapters add to a layer, from its own input before rotation, scaling and quantization. Strengths are
// in the factors. F32.
struct Correction {
    // y += up rows(down x). Layers that read the same input have one `down`, [K, all their ranks];
    // `first_rank` is where this one's begin.
    ggml_tensor * down = nullptr;
    ggml_tensor * up = nullptr; // [R, N]
    int64_t first_rank = 0;

    // y += (left (x) right inner) x, where the product is Kronecker's and inner may be missing.
    struct Kronecker {
        ggml_tensor * left;  // [uq, up]
        ggml_tensor * right; // [vq, vp], or [r, vp]
        ggml_tensor * inner; // NULL, or [vq, r]
    };
    std::vector<Kronecker> kroneckers;

    ggml_tensor * difference = nullptr; // y += difference x: [K, N]

    bool empty() const { return up == nullptr && kroneckers.empty() && difference == nullptr; }
};

struct Linear {
    enum class Kind {
        floats, // F32, F16, BF16 or blocks of ggml
        int8,   // int8_tensorwise
        w4a4,
        w4a8,
    };
    Kind kind = Kind::floats;
    std::string name; // of the module in its model
    int64_t n = 0, k = 0;
    int group = 1; // of the rotation
    ggml_tensor * weight = nullptr;
    ggml_tensor * scale = nullptr;    // int8, w4a4: F32 [N]
    ggml_tensor * codebook = nullptr; // w4a8: F32 [16], F32 [N], I8 [K / 16, N] of E4M3 bytes
    ggml_tensor * channel = nullptr;
    ggml_tensor * relative = nullptr;
    ggml_tensor * bias = nullptr; // F32 [N]
    Correction correction;
};

// x: F32 [K, rows...]. Result: F32 [N, rows...]. Layers with integer weights that read the same x with the
// same group share its rotation and quantization, unless input_scale is not 1: then x * input_scale goes
// through the layer, and what comes out is divided by it before the bias is added. Corrections always read x.
ggml_tensor * linear(Graph & g, const Linear & layer, ggml_tensor * x, float input_scale = 1.0f);

} // namespace sd
