// Random graphs of square matrices: the same seed gives the same graph, whoever is to compute it.
#pragma once

#include "ggml.h"

#include <cstdint>
#include <random>
#include <vector>

namespace ggml::test {

inline constexpr int64_t kSide = 16;

struct RandomGraph {
    ggml_cgraph * graph;
    std::vector<ggml_tensor *> inputs, nodes, outputs;
};

// weights: kSide x kSide matrices that may already have storage anywhere.
RandomGraph make_random_graph(ggml_context * ctx, const std::vector<ggml_tensor *> & weights, int n_nodes,
                              uint32_t seed);

std::vector<float> random_matrix(uint32_t seed);

} // namespace ggml::test
