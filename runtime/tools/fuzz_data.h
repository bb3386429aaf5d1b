// What lies in the leafs of a mutated graph. Promise: depends on the seed and the graph alone; integers are
// in range for whoever takes them for row numbers.
#pragma once

#include "runtime/tools/fuzz_program.h"

namespace ggml::tools {

// The bytes of a leaf. Empty for a leaf without elements.
std::vector<uint8_t> fuzz_contents(const FuzzProgram & program, const FuzzLeaf & leaf, uint64_t seed);

// False: a leaf of integers has to pick from rows that do not exist, or cannot pick different ones.
bool fuzz_indices_fit(const FuzzProgram & program);

} // namespace ggml::tools
