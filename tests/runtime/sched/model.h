// A small model whose graph crosses from the device to the CPU and back.
#pragma once

#include "tests/runtime/sched/fixture.h"

namespace ggml::test {

inline constexpr int64_t kSize = 64;

inline const std::vector<float> kTwice = [] {
    std::vector<float> m(kSize * kSize, 0.0f);
    for (size_t i = 0; i < kSize; ++i) m[i * kSize + i] = 2;
    return m;
}();

// x on the CPU, two layers on the device, one CPU node in between: 2 * ((2x)^2) + 1.
struct Model {
    explicit Model(Machine & m) : weight(m.backend(0), kSize, kSize, kTwice) {}
    Weight weight;

    struct Graph {
        ggml_context_ptr ctx = make_context(64);
        ggml_cgraph * graph = ggml_new_graph_custom(ctx.get(), 32, false);
        ggml_tensor *x, *h, *squared, *y;
    };
    Graph build() const {
        Graph g;
        ggml_context * ctx = g.ctx.get();
        g.x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kSize);
        ggml_set_input(g.x);
        g.h = ggml_mul_mat(ctx, weight.tensor, g.x);
        g.squared = ggml_sqr(ctx, g.h);
        g.y = ggml_scale_bias(ctx, ggml_mul_mat(ctx, weight.tensor, g.squared), 1, 1);
        ggml_set_output(g.y);
        ggml_build_forward_expand(g.graph, g.y);
        return g;
    }
    static std::vector<float> expected(const std::vector<float> & x) {
        std::vector<float> y;
        for (float v : x) y.push_back(2 * (2 * v) * (2 * v) + 1);
        return y;
    }
};

inline Machine make_machine(bool parallel = false) {
    return Machine({device_without("A", GGML_OP_SQR)}, parallel);
}

} // namespace ggml::test
