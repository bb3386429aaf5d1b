// A test device with registered kernels next to the CPU, and what the callbacks saw.
#pragma once

#include "tests/runtime/sched/fixture.h"
#include "tests/support/ext_kit.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace ggml::test {

inline constexpr int64_t kElements = 64;

// Counts the calls of one registration.
struct Calls {
    int supports = 0, matches = 0, prepares = 0, executes = 0, destroys = 0;
    std::vector<int> destroyed; // numbers of the states, in order
};

struct ExtMachine {
    explicit ExtMachine(TestDeviceOptions options = device_options("DEV"), bool parallel = false)
        : machine({options}, parallel), ctx(make_context(256)) {}

    ggml_backend_dev_t device() { return machine.devices[0]->device(); }
    ggml_backend_t backend() { return machine.backend(0); }
    ggml_backend_sched_t sched() { return machine.sched.get(); }

    // An input of the device's own memory.
    ggml_tensor * weight(float first) {
        weights.push_back(std::make_unique<Weight>(backend(), kElements, 1, counting(kElements, first)));
        return weights.back()->tensor;
    }

    ggml_cgraph * graph(std::initializer_list<ggml_tensor *> results) {
        ggml_cgraph * g = ggml_new_graph_custom(ctx.get(), 128, false);
        for (ggml_tensor * t : results) ggml_build_forward_expand(g, t);
        return g;
    }

    std::vector<float> compute(ggml_cgraph * g, ggml_tensor * result) {
        EXPECT_EQ(ggml_backend_sched_graph_compute(sched(), g), GGML_STATUS_SUCCESS);
        return read(result);
    }

    Machine machine;
    ggml_context_ptr ctx;
    std::vector<std::unique_ptr<Weight>> weights;
};

// A kernel for nodes of one operator that adds `extra` to what the operator means, so that its use shows.
inline KernelKit counted(const char * name, ggml_op op, std::shared_ptr<Calls> calls, size_t workspace = 0,
                         float extra = 1000) {
    KernelKit kit;
    kit.name = name;
    kit.op = op;
    kit.supports = [calls](const ggml_tensor *, ggml_ext_why_t) { return ++calls->supports, true; };
    kit.prepare = [calls, workspace](const ggml_ext_prepare_params &, ggml_ext_prepared & prepared) {
        prepared.state = new int(calls->prepares++);
        prepared.workspace_bytes = workspace;
        return GGML_STATUS_SUCCESS;
    };
    kit.execute = [calls, op, extra](const ggml_ext_execute_params & params, void * state) {
        ++calls->executes;
        return elementwise([op, extra](const std::vector<float> & v) {
            return (op == GGML_OP_MUL ? v[0] * v[1] : v[0] + v[1]) + extra;
        })(params, state);
    };
    kit.destroy = [calls](void * state) {
        ++calls->destroys;
        calls->destroyed.push_back(*static_cast<int *>(state));
        delete static_cast<int *>(state);
    };
    return kit;
}

// mul -> add as one step: a * b + c, plus `extra`.
inline KernelKit mul_add(const char * name, std::shared_ptr<Calls> calls, float extra = 1000) {
    KernelKit kit = counted(name, GGML_OP_MUL, calls);
    kit.supports = nullptr;
    kit.match = [calls](const ggml_cgraph * graph, int first, ggml_ext_why_t why) {
        ++calls->matches;
        const ggml_op ops[] = {GGML_OP_MUL, GGML_OP_ADD};
        const int n = ggml_ext_match_ops(graph, first, ops, 2, why);
        if (n < 2) return 0;
        auto * g = const_cast<ggml_cgraph *>(graph);
        return ggml_graph_node(g, first + 1)->src[0] == ggml_graph_node(g, first)
                   ? 2
                   : ggml_ext_refuse_match(why, 1, "the product is not the first summand");
    };
    kit.execute = [calls, extra](const ggml_ext_execute_params & params, void *) {
        ++calls->executes;
        const ggml_tensor *mul = params.step.nodes[0], *add = params.step.nodes[1];
        return queue_floats(params, {mul->src[0], mul->src[1], add->src[1]},
                            [extra](float * out, const std::vector<const float *> & in, int64_t n) {
                                for (int64_t i = 0; i < n; ++i)
                                    out[i] = in[0][i] * in[1][i] + in[2][i] + extra;
                            });
    };
    return kit;
}

} // namespace ggml::test
