#include "runtime/sched/sched.h"

#include "tests/runtime/sched/fixture.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

constexpr int64_t kSize = 8;

ggml_tensor * vector_input(ggml_context * ctx) {
    ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kSize);
    ggml_set_input(x);
    return x;
}

const std::vector<float> kTwice = [] {
    std::vector<float> m(kSize * kSize, 0.0f);
    for (size_t i = 0; i < kSize; ++i) m[i * kSize + i] = 2;
    return m;
}();

struct Job {
    ggml_context_ptr ctx = make_context(256);
    ggml_cgraph * graph = ggml_new_graph_custom(ctx.get(), 128, false);

    // Allocates, writes 0, 1, 2 ... to the input and computes.
    ggml_status compute(Machine & m, ggml_tensor * x, ggml_tensor * y) {
        ggml_set_output(y);
        ggml_build_forward_expand(graph, y);
        if (!ggml_backend_sched_alloc_graph(m.sched.get(), graph)) return GGML_STATUS_ALLOC_FAILED;
        write(x, counting(kSize));
        return ggml_backend_sched_graph_compute(m.sched.get(), graph);
    }
};

std::vector<float> times(float factor) {
    std::vector<float> v = counting(kSize);
    for (float & x : v) x *= factor;
    return v;
}

TEST(assignment, with_one_backend_is_one_split_without_copies) {
    Machine m({});
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * y = ggml_scale(r.ctx.get(), ggml_add(r.ctx.get(), x, x), 3);
    ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched.get()), 1);
    EXPECT_TRUE(m.sched->split_inputs.empty());
    EXPECT_EQ(read(y), times(6));
}

TEST(assignment, follows_the_weights) {
    Machine m({device_options("A"), device_options("B")});
    Weight on_a(m.backend(0), kSize, kSize, kTwice), on_b(m.backend(1), kSize, kSize, kTwice);
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * h = ggml_mul_mat(r.ctx.get(), on_b.tensor, x);
    ggml_tensor * y = ggml_mul_mat(r.ctx.get(), on_a.tensor, h);
    ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), h), m.backend(1));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), y), m.backend(0));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), x), m.cpu());
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched.get()), 2);
    EXPECT_EQ(read(y), times(4));
    EXPECT_EQ(m.failures(), 0);
}

TEST(assignment, spreads_from_weights_to_neighbours_but_not_over_unsupported_nodes) {
    Machine m({device_without("A", GGML_OP_SQR)});
    Weight w(m.backend(0), kSize, kSize, kTwice);
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * before = ggml_scale(r.ctx.get(), x, 1);
    ggml_tensor * h = ggml_mul_mat(r.ctx.get(), w.tensor, before);
    ggml_tensor * squared = ggml_sqr(r.ctx.get(), h);
    ggml_tensor * y = ggml_sqrt(r.ctx.get(), squared);
    ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), before), m.backend(0));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), squared), m.cpu());
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), y), m.backend(0));
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched.get()), 3);
    EXPECT_EQ(read(y), times(2));
    EXPECT_EQ(m.failures(), 0);
}

TEST(assignment, of_the_caller_wins) {
    Machine m({device_options("A"), device_options("B")});
    Weight w(m.backend(0), kSize, kSize, kTwice);
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * h = ggml_mul_mat(r.ctx.get(), w.tensor, x);
    ggml_tensor * y = ggml_scale(r.ctx.get(), h, 2);
    ggml_backend_sched_set_tensor_backend(m.sched.get(), h, m.backend(1));
    ggml_backend_sched_set_tensor_backend(m.sched.get(), y, m.cpu());
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), h), m.backend(1));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), x), nullptr);
    ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), h), m.backend(1));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), y), m.cpu());
    EXPECT_EQ(read(y), times(4));
    EXPECT_EQ(m.failures(), 0);
}

TEST(assignment, keeps_a_preallocated_result_where_it_is) {
    Machine m({device_options("A")});
    Weight state(m.backend(0), kSize, 1, counting(kSize), GGML_BACKEND_BUFFER_USAGE_ANY);
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * y = ggml_cpy(r.ctx.get(), ggml_scale(r.ctx.get(), x, 5), state.tensor);
    ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), y), m.backend(0));
    EXPECT_EQ(read(state.tensor), times(5));
}

TEST(assignment, offloads_host_weights_only_to_a_backend_that_asks_and_only_when_allowed) {
    for (const bool allowed : {false, true}) {
        TestDeviceOptions options = device_options("A");
        options.offload = [](const ggml_tensor * t) { return t->op == GGML_OP_MUL_MAT; };
        Machine m({options}, /*parallel=*/false, allowed);
        Weight w(m.cpu(), kSize, kSize, kTwice);
        Job r;
        ggml_tensor * x = vector_input(r.ctx.get());
        ggml_tensor * y = ggml_mul_mat(r.ctx.get(), w.tensor, x);
        ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
        EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched.get(), y), allowed ? m.backend(0) : m.cpu());
        EXPECT_EQ(m.sched->split_inputs.size(), allowed ? 2u : 0u);
        EXPECT_EQ(read(y), times(2));
    }
}

TEST(assignment, puts_each_offloaded_weight_into_a_split_of_its_own) {
    TestDeviceOptions options = device_options("A");
    options.offload = [](const ggml_tensor * t) { return t->op == GGML_OP_MUL_MAT; };
    Machine m({options}, /*parallel=*/false, /*op_offload=*/true);
    std::vector<std::unique_ptr<Weight>> weights;
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * y = x;
    for (int i = 0; i < 4; ++i) {
        weights.push_back(std::make_unique<Weight>(m.cpu(), kSize, kSize, kTwice));
        y = ggml_mul_mat(r.ctx.get(), weights.back()->tensor, y);
    }
    ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched.get()), 4);
    EXPECT_EQ(read(y), times(16));
    // Four weights of 256 bytes would need 1024 at once.
    EXPECT_LT(ggml_backend_sched_get_buffer_size(m.sched.get(), m.backend(0)), 4 * 256 + 2 * 256u);
}

TEST(assignment, copies_a_source_once_for_all_its_readers_on_a_backend) {
    Machine m({device_options("A")});
    Weight w(m.backend(0), kSize, kSize, kTwice);
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * h1 = ggml_mul_mat(r.ctx.get(), w.tensor, x);
    ggml_tensor * h2 = ggml_mul_mat(r.ctx.get(), w.tensor, ggml_add(r.ctx.get(), x, x));
    ASSERT_EQ(r.compute(m, x, ggml_add(r.ctx.get(), h1, h2)), GGML_STATUS_SUCCESS);
    EXPECT_EQ(m.sched->split_inputs.size(), 1u);
}

TEST(assignment, moves_nodes_to_an_earlier_backend_that_shares_their_memory) {
    // The device's stream twice: what the second would run, the first can run without any copy.
    TestDevice device(device_options("A"));
    ggml_backend_ptr first(device.new_backend()), second(device.new_backend()), cpu(ggml_backend_cpu_init());
    ggml_backend_t backends[] = {first.get(), second.get(), cpu.get()};
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends, nullptr, 3, 16, false, false));
    Weight w(first.get(), kSize, kSize, kTwice);
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * h = ggml_mul_mat(r.ctx.get(), w.tensor, x);
    ggml_tensor * y = ggml_scale(r.ctx.get(), h, 2);
    ggml_backend_sched_set_tensor_backend(sched.get(), y, second.get());
    ggml_build_forward_expand(r.graph, y);
    ggml_backend_sched_split_graph(sched.get(), r.graph);
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(sched.get(), y), first.get());
    EXPECT_EQ(ggml_backend_sched_get_n_splits(sched.get()), 1);
}

TEST(assignment, of_a_node_nobody_runs_is_an_error_that_names_it) {
    TestDevice device(device_without("A", GGML_OP_SQR));
    ggml_backend_ptr stream(device.new_backend());
    ggml_backend_t backends[] = {stream.get()};
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends, nullptr, 1, 16, false, false));
    Job r;
    ggml_tensor * y = ggml_sqr(r.ctx.get(), vector_input(r.ctx.get()));
    ggml_set_name(y, "lonely");
    ggml_build_forward_expand(r.graph, y);
    const LogCapture log;
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(sched.get(), r.graph));
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), r.graph), GGML_STATUS_ALLOC_FAILED);
    EXPECT_NE(log.text.find("no backend runs SQR (node 'lonely')"), std::string::npos) << log.text;
}

TEST(assignment, of_a_result_in_memory_nobody_can_use_is_an_error_that_names_it) {
    Machine m({});
    TestDevice stranger(device_options("X"));
    ggml_backend_ptr stream(stranger.new_backend());
    Weight far(stream.get(), kSize, 1, counting(kSize), GGML_BACKEND_BUFFER_USAGE_ANY);
    ggml_set_name(far.tensor, "far");
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    const LogCapture log;
    EXPECT_EQ(r.compute(m, x, ggml_cpy(r.ctx.get(), x, far.tensor)), GGML_STATUS_ALLOC_FAILED);
    EXPECT_NE(log.text.find("lies in a X buffer"), std::string::npos) << log.text;
}

TEST(assignment, handles_graphs_of_nothing_but_views) {
    Machine m({device_options("A")});
    Job r;
    ggml_tensor * x = vector_input(r.ctx.get());
    ggml_tensor * y = ggml_view_1d(r.ctx.get(), ggml_reshape_2d(r.ctx.get(), x, 2, kSize / 2), 4, 8);
    ASSERT_EQ(r.compute(m, x, y), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(y), counting(4, 2));
}

} // namespace
} // namespace ggml::test
