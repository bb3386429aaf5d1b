// Graphs with planted faults, and their parity.
#pragma once

#include "tests/runtime/sched/ext_fixture.h"

#include "ggml-ext-tools.h"

#include <cmath>
#include <memory>

namespace ggml::test {

inline constexpr ggml_ext_tolerance kTolerance = {1e-4, 1e-4, 1e-6};

struct ParityDeleter {
    void operator()(ggml_ext_parity_result * result) const { ggml_ext_parity_free(result); }
};
using ParityResult = std::unique_ptr<ggml_ext_parity_result, ParityDeleter>;

// Of a graph that is allocated.
inline ParityResult parity(ggml_backend_sched_t sched, ggml_cgraph * graph, bool bisect = true,
                           const ggml_ext_tolerance & tolerance = kTolerance) {
    ggml_ext_parity_result * result = nullptr;
    EXPECT_EQ(ggml_ext_parity(sched, graph, &tolerance, bisect, &result), GGML_EXT_SUCCESS)
        << ggml_ext_last_message();
    return ParityResult(result);
}

// The operator's kernel: f of the elements of its sources.
inline KernelKit kernel(const char * name, ggml_op op, std::function<float(const std::vector<float> &)> f) {
    KernelKit kit;
    kit.name = name;
    kit.op = op;
    kit.supports = [](const ggml_tensor *, ggml_ext_why_t) { return true; };
    kit.execute = elementwise(std::move(f));
    return kit;
}

inline KernelKit square(const char * name, float error = 0) {
    return kernel(name, GGML_OP_SQR, [error](const std::vector<float> & v) { return v[0] * v[0] + error; });
}
inline KernelKit root(const char * name, float error = 0) {
    return kernel(name, GGML_OP_SQRT,
                  [error](const std::vector<float> & v) { return std::sqrt(v[0]) + error; });
}
inline KernelKit sum(const char * name, float error = 0) {
    return kernel(name, GGML_OP_ADD, [error](const std::vector<float> & v) { return v[0] + v[1] + error; });
}

// sqrt(sqr(a) + b)
struct RootOfSum {
    ggml_tensor *a, *b, *squared, *added, *rooted;
    ggml_cgraph * graph;
    explicit RootOfSum(ExtMachine & m) : a(m.weight(1)), b(m.weight(2)) {
        ggml_context * c = m.ctx.get();
        squared = ggml_sqr(c, a);
        added = ggml_add(c, squared, b);
        rooted = ggml_sqrt(c, added);
        ggml_set_name(squared, "squared");
        ggml_set_name(added, "added");
        ggml_set_name(rooted, "rooted");
        graph = m.graph({rooted});
        EXPECT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), graph));
    }
};

} // namespace ggml::test
