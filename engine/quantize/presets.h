// Which layers of a model family stay as they are when the model is quantized: those whose errors show in
// pictures, as the publishers of such files choose them.
#pragma once

#include "models/families.h"

#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct Preset {
    const char * name;                      // as people write it
    std::vector<std::string_view> families; // of FoundModel
    CanonicalName canonical;                // NULL: names as they are
    // Patterns for names of modules, without the model's prefix.
    std::vector<std::string_view> keep;
};

// By name; an Error that lists the names otherwise.
const Preset & preset_named(const std::string & name);
// For a family; "generic" for those without one of their own.
const Preset & preset_for(const std::string & family);

std::string preset_names(); // "anima, chroma, ..."

// The pattern that keeps the module, or "". `name` is without prefix and without ".weight".
std::string_view kept_by(const Preset & preset, const std::string & name);

} // namespace sd
