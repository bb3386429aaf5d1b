// A model as stages, each a part of its graph that reads one group of weights: consecutive ones, in any
// number, are a graph of their own.
#pragma once

#include "nn/graph.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sd {

// What is alive between two stages, by name.
using Values = std::map<std::string, ggml_tensor *>;

struct Stage {
    size_t group; // of Weights
    // Reads values, replaces or adds some and removes those that nobody needs any more. None may be a view.
    std::function<void(Graph & g, Values & values)> build;
};

} // namespace sd
