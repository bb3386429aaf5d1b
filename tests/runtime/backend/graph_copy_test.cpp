#include "tests/runtime/backend/fixture.h"

#include "ggml-graph.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

// y = scale(a + b, 2) and the second half of y as a view, squared.
struct SmallGraph {
    ggml_backend_ptr cpu{ggml_backend_cpu_init()};
    ggml_context_ptr ctx = make_context();
    ggml_tensor * a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
    ggml_tensor * b = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
    ggml_tensor * sum = ggml_add(ctx.get(), a, b);
    ggml_tensor * y = ggml_scale(ctx.get(), sum, 2);
    ggml_tensor * half = ggml_view_1d(ctx.get(), y, 4, 16);
    ggml_tensor * squared = ggml_sqr(ctx.get(), half);
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    ggml_backend_buffer_ptr buffer;

    SmallGraph() {
        ggml_build_forward_expand(graph, squared);
        buffer.reset(ggml_backend_alloc_ctx_tensors(ctx.get(), cpu.get()));
        write(a, counting(8));
        write(b, counting(8, 1));
        ggml_backend_cpu_set_use_ref(cpu.get(), true);
    }
};

const std::vector<float> kSquared = {324, 484, 676, 900}; // (2 * (2i + 1))^2 for i = 4 .. 7

TEST(graph_compute_range, runs_only_its_nodes) {
    SmallGraph g;
    ASSERT_EQ(ggml_graph_n_nodes(g.graph), 4);
    ggml_backend_buffer_clear(g.sum->buffer, 0);
    write(g.a, counting(8));
    write(g.b, counting(8, 1));
    EXPECT_EQ(ggml_backend_graph_compute_range(g.cpu.get(), g.graph, 0, 1), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.sum)[7], 15.0f);
    EXPECT_EQ(read(g.y), std::vector<float>(8, 0.0f));
    EXPECT_EQ(ggml_backend_graph_compute_range(g.cpu.get(), g.graph, 1, 3), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.squared), kSquared);
}

TEST(graph_compute_range, that_leaves_the_graph_is_an_error_and_an_empty_one_is_not) {
    SmallGraph g;
    const LogCapture log;
    EXPECT_EQ(ggml_backend_graph_compute_range(g.cpu.get(), g.graph, 4, 0), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_graph_compute_range(g.cpu.get(), g.graph, 0, 5), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_backend_graph_compute_range(g.cpu.get(), g.graph, -1, 1), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_backend_graph_compute_range(g.cpu.get(), g.graph, 5, INT32_MAX), GGML_STATUS_FAILED);
}

TEST(graph_plan, computes_as_often_as_wanted) {
    SmallGraph g;
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(g.cpu.get(), g.graph);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(ggml_backend_graph_plan_compute(g.cpu.get(), plan), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.squared), kSquared);
    write(g.a, counting(8, 1));
    write(g.b, counting(8, 0));
    EXPECT_EQ(ggml_backend_graph_plan_compute(g.cpu.get(), plan), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(g.squared), kSquared);
    ggml_backend_graph_plan_free(g.cpu.get(), plan);
    TestDevice device;
    ggml_backend_ptr stream(device.new_backend());
    EXPECT_EQ(ggml_backend_graph_plan_create(stream.get(), g.graph), nullptr);
}

TEST(graph_copy, computes_the_same_on_another_device) {
    SmallGraph g;
    TestDevice device;
    ggml_backend_ptr stream(device.new_backend());
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(stream.get(), g.graph);
    ASSERT_NE(copy.graph, nullptr);
    ASSERT_EQ(ggml_graph_n_nodes(copy.graph), 4);
    ASSERT_EQ(ggml_graph_n_leafs(copy.graph), 2);
    for (int i = 0; i < 4; ++i) {
        EXPECT_STREQ(ggml_graph_node(copy.graph, i)->name, ggml_graph_node(g.graph, i)->name);
        EXPECT_EQ(ggml_graph_node_use_count(copy.graph, i), ggml_graph_node_use_count(g.graph, i)) << i;
    }
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), copy.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(device.counters.failures, 0);
    EXPECT_EQ(read(ggml_graph_node(copy.graph, -1)), kSquared);
    ggml_backend_graph_copy_free(copy);
    EXPECT_EQ(device.counters.bytes_in_use, 0u);
}

TEST(graph_copy, without_memory_is_empty) {
    SmallGraph g;
    TestDeviceOptions options;
    options.memory = 300;
    TestDevice device(options);
    ggml_backend_ptr stream(device.new_backend());
    const LogCapture log;
    const struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(stream.get(), g.graph);
    EXPECT_EQ(copy.graph, nullptr);
    EXPECT_EQ(copy.buffer, nullptr);
    EXPECT_NE(log.text.find("no memory for the tensors"), std::string::npos) << log.text;
}

TEST(graph_copy, of_a_graph_without_storage_is_empty) {
    ggml_context_ptr ctx = make_context();
    ggml_tensor * a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph, ggml_sqr(ctx.get(), a));
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    const LogCapture log;
    EXPECT_EQ(ggml_backend_graph_copy(cpu.get(), graph).graph, nullptr);
    EXPECT_NE(log.text.find("has no storage"), std::string::npos) << log.text;
}

TEST(graph_copy, of_tensors_without_elements_needs_no_memory) {
    ggml_context_ptr ctx = make_context();
    ggml_tensor * a = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 0, 5);
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph, ggml_sqr(ctx.get(), ggml_reshape_2d(ctx.get(), a, 5, 0)));
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_context_ptr other = make_context();
    ggml_cgraph * no_nodes = ggml_new_graph(other.get());
    for (ggml_cgraph * g : {graph, no_nodes}) {
        struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(cpu.get(), g);
        ASSERT_NE(copy.graph, nullptr);
        EXPECT_EQ(ggml_graph_n_nodes(copy.graph), ggml_graph_n_nodes(g));
        EXPECT_EQ(ggml_backend_graph_compute(cpu.get(), copy.graph), GGML_STATUS_SUCCESS);
        ggml_backend_graph_copy_free(copy);
    }
}

struct Seen {
    std::vector<int> indices;
    bool equal = true;
    int stop_after = 1000;
};

bool note(int index, ggml_tensor * t1, ggml_tensor * t2, void * user_data) {
    Seen & seen = *static_cast<Seen *>(user_data);
    seen.indices.push_back(index);
    seen.equal = seen.equal && read(t1) == read(t2);
    return int(seen.indices.size()) < seen.stop_after;
}

TEST(graph_comparison, reports_every_computing_node) {
    SmallGraph g;
    TestDevice device;
    ggml_backend_ptr stream(device.new_backend());
    Seen seen;
    EXPECT_TRUE(
        ggml_backend_compare_graph_backend(g.cpu.get(), stream.get(), g.graph, note, &seen, nullptr, 0));
    EXPECT_EQ(seen.indices, (std::vector<int>{0, 1, 3}));
    EXPECT_TRUE(seen.equal);
}

TEST(graph_comparison, ends_when_told_so) {
    SmallGraph g;
    TestDevice device;
    ggml_backend_ptr stream(device.new_backend());
    Seen seen;
    seen.stop_after = 1;
    EXPECT_TRUE(
        ggml_backend_compare_graph_backend(g.cpu.get(), stream.get(), g.graph, note, &seen, nullptr, 0));
    EXPECT_EQ(seen.indices, std::vector<int>{0});
}

TEST(graph_comparison, reports_only_chosen_nodes_and_fails_without_any) {
    SmallGraph g;
    TestDevice device;
    ggml_backend_ptr stream(device.new_backend());
    Seen seen;
    const ggml_tensor * chosen[] = {g.squared};
    EXPECT_TRUE(
        ggml_backend_compare_graph_backend(g.cpu.get(), stream.get(), g.graph, note, &seen, chosen, 1));
    EXPECT_EQ(seen.indices, std::vector<int>{3});
    EXPECT_TRUE(seen.equal);
    const ggml_tensor * stranger[] = {g.a};
    const LogCapture log;
    EXPECT_FALSE(
        ggml_backend_compare_graph_backend(g.cpu.get(), stream.get(), g.graph, note, &seen, stranger, 1));
}

} // namespace
} // namespace ggml::test
