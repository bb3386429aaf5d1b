#include "tests/runtime/sched/fixture.h"
#include "tests/runtime/sched/random_graph.h"

#include "runtime/sched/sched.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

constexpr int kWeights = 5;

ggml_context_ptr large_context(int nodes) {
    const size_t bytes =
        size_t(nodes) * 8 * ggml_tensor_overhead() + ggml_graph_overhead_custom(size_t(nodes) * 6, false);
    return ggml_context_ptr(ggml_init({bytes, nullptr, /*no_alloc=*/true}));
}

using Outputs = std::vector<std::vector<float>>;

Outputs read_all(const RandomGraph & g) {
    Outputs outputs;
    for (const ggml_tensor * t : g.outputs) outputs.push_back(read(t));
    return outputs;
}

void write_inputs(const RandomGraph & g, uint32_t seed) {
    for (size_t i = 0; i < g.inputs.size(); ++i) {
        // An input nobody reads is not part of the graph.
        if (g.inputs[i]->data != nullptr) write(g.inputs[i], random_matrix(seed * 100 + uint32_t(i)));
    }
}

// Every tensor has storage of its own: nothing is reused, copied or moved.
Outputs computed_plainly(int nodes, uint32_t seed, uint32_t data_seed) {
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_backend_cpu_set_use_ref(cpu.get(), true);
    ggml_context_ptr ctx = large_context(nodes);
    std::vector<ggml_tensor *> weights;
    for (int i = 0; i < kWeights; ++i)
        weights.push_back(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, kSide, kSide));
    RandomGraph g = make_random_graph(ctx.get(), weights, nodes, seed);
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), cpu.get()));
    for (int i = 0; i < kWeights; ++i) write(weights[size_t(i)], random_matrix(uint32_t(i)));
    write_inputs(g, data_seed);
    EXPECT_EQ(ggml_backend_graph_compute(cpu.get(), g.graph), GGML_STATUS_SUCCESS);
    return read_all(g);
}

std::vector<TestDeviceOptions> random_devices(std::mt19937 & random) {
    std::vector<TestDeviceOptions> devices;
    const size_t n = 1 + random() % 3;
    for (size_t i = 0; i < n; ++i) {
        TestDeviceOptions o = device_options(i == 0 ? "A" : i == 1 ? "B" : "C");
        const uint32_t refused = random();
        o.supports = [refused](const ggml_tensor * t) { return (refused >> (t->op % 32) & 3) != 0; };
        o.async = random() % 4 != 0;
        o.events = o.async && random() % 3 != 0;
        o.host_visible = random() % 4 == 0;
        devices.push_back(o);
    }
    return devices;
}

std::vector<std::unique_ptr<Weight>> spread_weights(Machine & m, std::mt19937 & random) {
    std::vector<std::unique_ptr<Weight>> weights;
    for (int i = 0; i < kWeights; ++i) {
        ggml_backend_t where = m.backend(random() % m.streams.size());
        weights.push_back(std::make_unique<Weight>(where, kSide, kSide, random_matrix(uint32_t(i))));
    }
    return weights;
}

// Moves some nodes by hand, to backends that can run them.
void assign_some(Machine & m, const RandomGraph & g, std::mt19937 & random) {
    for (ggml_tensor * t : g.nodes) {
        ggml_backend_t backend = m.backend(random() % m.streams.size());
        if (random() % 8 != 0 || t->view_src != nullptr || !ggml_backend_supports_op(backend, t)) continue;
        ggml_backend_sched_set_tensor_backend(m.sched.get(), t, backend);
    }
}

class RandomGraphs : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomGraphs, give_the_same_bytes_on_devices_and_cpu_as_on_the_cpu_alone) {
    const uint32_t seed = GetParam();
    std::mt19937 random(seed);
    const int nodes = 20 + int(random() % 100);
    Machine m(random_devices(random), /*parallel=*/random() % 2 == 0);
    const auto weights = spread_weights(m, random);
    std::vector<ggml_tensor *> tensors;
    for (auto & w : weights) tensors.push_back(w->tensor);
    // Several graphs through one scheduler, the first shape twice.
    for (const uint32_t shape : {seed, seed, seed + 1000}) {
        ggml_backend_sched_reset(m.sched.get());
        ggml_context_ptr ctx = large_context(nodes);
        RandomGraph g = make_random_graph(ctx.get(), tensors, nodes, shape);
        assign_some(m, g, random);
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
        for (const uint32_t data : {1u, 2u}) {
            write_inputs(g, data);
            ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
            EXPECT_EQ(read_all(g), computed_plainly(nodes, shape, data)) << "data " << data;
        }
        // The scheduler must not outlive what it refers to without being told.
        ggml_backend_sched_reset(m.sched.get());
    }
    EXPECT_EQ(m.failures(), 0);
}

INSTANTIATE_TEST_SUITE_P(seeds, RandomGraphs, testing::Range(0u, 40u));

} // namespace
} // namespace ggml::test
