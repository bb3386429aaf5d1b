// What an audited graph is given to compute on. Promise: the same numbers for the same leaf and fill in every
// graph that is built alike; indices stay within what their readers can look up.
#pragma once

#include "ggml.h"

#include <array>

namespace ggml::tools {

// Different enough that a decision taken on the contents of one is wrong for another.
enum class Fill { random, negated, zero, large };
inline constexpr std::array kFills = {Fill::random, Fill::negated, Fill::zero, Fill::large};
const char * fill_name(Fill fill);

// number: of the leaf, so that leafs differ. The tensor has storage.
void fill_input(ggml_tensor * leaf, const ggml_cgraph * graph, int number, Fill fill);

} // namespace ggml::tools
