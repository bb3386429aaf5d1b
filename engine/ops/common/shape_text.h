// "f32 [8, 4, 1, 1]", for the words of refusals; "none" for an input left out.
#pragma once

#include "ggml.h"

#include <string>

namespace sd {

inline std::string shape_text(const ggml_tensor * t) {
    if (t == nullptr) return "none";
    std::string text = std::string(ggml_type_name(t->type)) + " [";
    for (int d = 0; d < GGML_MAX_DIMS; ++d) text += (d > 0 ? ", " : "") + std::to_string(t->ne[d]);
    return text + "]";
}

} // namespace sd
