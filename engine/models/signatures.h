// Tensor names by which models of other programs are recognized; they are not run, only called by their name.
#pragma once

#include "models/families.h"

#include <array>
#include <string_view>
#include <vector>

namespace sd {

struct Signature {
    const char * family;
    const char * title;
    ModelRole role;
    // All must occur, as the beginning of a tensor's name without prefix.
    std::array<std::string_view, 2> tensors;
};

// In this order: a family that shares tensors with another comes before it.
const std::vector<Signature> & signatures();

} // namespace sd
