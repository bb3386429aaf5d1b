// A layer for the tests of this room, checked with every kernel that this processor can run.
#pragma once

#include "ops/common/cpu.h"
#include "ops/common/test_graph.h"
#include "ops/linear_i8/schema.h"
#include "sd-ggml-ops.h"

#include <string>
#include <utility>
#include <vector>

namespace sd::test {

inline std::vector<std::string> all_kernel_names() {
    return {
#define X(name, entry, isa) name,
#include "ops/linear_i8/kernels.inc"
#undef X
    };
}

inline std::vector<std::string> usable_kernel_names() {
    const std::pair<const char *, Isa> all[] = {
#define X(name, entry, isa) {name, isa},
#include "ops/linear_i8/kernels.inc"
#undef X
    };
    std::vector<std::string> names;
    for (const auto & [name, isa] : all) {
        if (cpu_may_use(isa)) names.push_back(name);
    }
    return names;
}

struct LayerSize {
    int64_t k, n;
};

struct Layer {
    Inputs in;
    ggml_tensor *w, *scale, *bias;

    explicit Layer(LayerSize size, uint32_t seed = 1)
        : in(seed), w(in.bytes({size.k, size.n, 1, 1})), scale(in.floats({size.n, 1, 1, 1})),
          bias(in.floats({size.n, 1, 1, 1})) {}

    Build build(ggml_tensor * x, int group, ggml_tensor * x_scale = nullptr) {
        return [=, this](ggml_context * ctx) {
            return ggml_mul_mat_i8_tensorwise(ctx, w, x, scale, bias, group, x_scale);
        };
    }

    void check(ggml_tensor * x, int group, const std::string & what, ggml_tensor * x_scale = nullptr) {
        const Build graph = build(x, group, x_scale);
        check_against(graph, reference(graph, linear_i8_reference), what);
    }

    // On one to three threads.
    void check_against(const Build & graph, const Outcome & expected, const std::string & what,
                       RunOptions options = {}) {
        for (const std::string & name : usable_kernel_names()) {
            options.disabled = all_but(all_kernel_names(), name);
            for (options.n_threads = 1; options.n_threads <= 3; ++options.n_threads) {
                if (!expect_same_floats(run(graph, options), expected, what + ", " + name)) return;
            }
        }
    }
};

} // namespace sd::test
