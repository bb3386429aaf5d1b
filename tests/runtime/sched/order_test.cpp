// Orders between streams: graphs queued behind each other, memory that is shared or used again.
#include "runtime/sched/sched.h"

#include "tests/runtime/sched/model.h"

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace ggml::test {
namespace {

// All nodes on the device, so that whole graphs can be queued behind each other.
struct DeviceGraph {
    ggml_context_ptr ctx = make_context(64);
    ggml_cgraph * graph = ggml_new_graph_custom(ctx.get(), 32, false);
    ggml_tensor *x, *y;
    explicit DeviceGraph(ggml_tensor * weight) {
        x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, kSize);
        ggml_set_input(x);
        y = ggml_mul_mat(ctx.get(), weight, ggml_mul_mat(ctx.get(), weight, x));
        ggml_set_output(y);
        ggml_build_forward_expand(graph, y);
    }
};

TEST(pipeline, queues_graphs_while_earlier_ones_still_wait_to_run) {
    Machine m({device_options("A")}, /*parallel=*/true);
    Weight weight(m.backend(0), kSize, kSize, kTwice);
    std::vector<std::unique_ptr<DeviceGraph>> graphs;
    std::vector<std::vector<float>> results(3, std::vector<float>(kSize));
    {
        // Buffers are allocated, and waited for, before the stream is held.
        DeviceGraph warm_up(weight.tensor);
        ASSERT_TRUE(ggml_backend_sched_reserve(m.sched.get(), warm_up.graph));
    }
    m.devices[0]->hold();
    for (int i = 0; i < 3; ++i) {
        graphs.push_back(std::make_unique<DeviceGraph>(weight.tensor));
        DeviceGraph & g = *graphs.back();
        ggml_backend_sched_reset(m.sched.get());
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
        write(g.x, counting(kSize, float(100 * i)));
        ASSERT_EQ(ggml_backend_sched_graph_compute_async(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
        ggml_backend_tensor_get_async(m.backend(0), g.y, results[size_t(i)].data(), 0, ggml_nbytes(g.y));
    }
    // None of the three has run, and none has overwritten another's input.
    EXPECT_EQ(results[0], std::vector<float>(kSize));
    m.devices[0]->release();
    ggml_backend_sched_synchronize(m.sched.get());
    for (size_t i = 0; i < 3; ++i) {
        for (size_t k = 0; k < kSize; ++k) ASSERT_EQ(results[i][k], 4 * (float(100 * i) + float(k))) << i;
    }
    EXPECT_EQ(m.failures(), 0);
}

TEST(pipeline, waits_before_a_copy_is_used_again) {
    Machine m({device_options("A")}, /*parallel=*/true);
    Weight weight(m.backend(0), kSize, kSize, kTwice);
    // Twice as many graphs as copies, never synchronized in between.
    std::vector<std::unique_ptr<DeviceGraph>> graphs;
    std::vector<std::vector<float>> results(8, std::vector<float>(kSize));
    for (int i = 0; i < 8; ++i) {
        graphs.push_back(std::make_unique<DeviceGraph>(weight.tensor));
        DeviceGraph & g = *graphs.back();
        ggml_backend_sched_reset(m.sched.get());
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
        write(g.x, counting(kSize, float(100 * i)));
        ASSERT_EQ(ggml_backend_sched_graph_compute_async(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
        ggml_backend_tensor_get_async(m.backend(0), g.y, results[size_t(i)].data(), 0, ggml_nbytes(g.y));
    }
    ggml_backend_sched_synchronize(m.sched.get());
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(results[i][1], 4 * (float(100 * i) + 1)) << i;
}

TEST(synchronous_scheduler, orders_two_graphs_queued_one_after_the_other) {
    Machine m = make_machine();
    const Model model(m);
    Model::Graph g = model.build();
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), g.graph));
    write(g.x, counting(kSize));
    ASSERT_EQ(ggml_backend_sched_graph_compute_async(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    write(g.x, counting(kSize, 1)); // inputs are free again when the call returns
    ASSERT_EQ(ggml_backend_sched_graph_compute_async(m.sched.get(), g.graph), GGML_STATUS_SUCCESS);
    ggml_backend_sched_synchronize(m.sched.get());
    EXPECT_EQ(read(g.y), Model::expected(counting(kSize, 1)));
}

// Runs `work` beside a device that stands still, and lets the device go on once somebody waits for it. False:
// nobody did, `work` was over first.
bool waits_for_device(TestDevice & device, const std::function<void()> & work) {
    std::atomic<bool> done = false;
    device.counters.waits = 0;
    device.hold();
    std::thread worker([&] {
        work();
        done = true;
    });
    while (!done && device.counters.waits == 0) std::this_thread::yield();
    const bool waited = !done;
    device.release();
    worker.join();
    return waited;
}

TEST(synchronous_scheduler, waits_before_the_cpu_reads_device_memory_without_a_copy) {
    TestDeviceOptions options = device_without("A", GGML_OP_SQR);
    options.host_visible = true;
    Machine m({options});
    Weight weight(m.backend(0), kSize, kSize, kTwice);
    ggml_context_ptr ctx = make_context(64);
    ggml_tensor * x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, kSize);
    ggml_set_input(x);
    ggml_tensor * h = ggml_mul_mat(ctx.get(), weight.tensor, x);
    ggml_tensor * y = ggml_sqr(ctx.get(), h);
    ggml_cgraph * graph = ggml_new_graph_custom(ctx.get(), 32, false);
    ggml_build_forward_expand(graph, y);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), graph));
    ASSERT_EQ(y->src[0], h); // not copied
    write(x, counting(kSize));
    EXPECT_TRUE(waits_for_device(*m.devices[0],
                                 [&] { ggml_backend_sched_graph_compute_async(m.sched.get(), graph); }));
    ggml_backend_sched_synchronize(m.sched.get());
    EXPECT_EQ(read(y)[3], 36.0f);
}

TEST(synchronous_scheduler, waits_before_buffers_in_use_are_replaced_by_larger_ones) {
    Machine m({device_options("A")});
    Weight weight(m.backend(0), kSize, kSize, kTwice),
        large(m.backend(0), kSize * kSize, 1, counting(kSize * kSize));
    DeviceGraph small(weight.tensor);
    ggml_context_ptr ctx = make_context(64);
    ggml_cgraph * graph = ggml_new_graph_custom(ctx.get(), 32, false);
    ggml_build_forward_expand(graph, ggml_scale(ctx.get(), large.tensor, 2));
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), small.graph));
    write(small.x, counting(kSize));
    std::vector<float> result(kSize);
    EXPECT_TRUE(waits_for_device(*m.devices[0], [&] {
        ggml_backend_sched_graph_compute_async(m.sched.get(), small.graph);
        ggml_backend_tensor_get_async(m.backend(0), small.y, result.data(), 0, ggml_nbytes(small.y));
        ggml_backend_sched_reset(m.sched.get());
        EXPECT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), graph));
    }));
    ggml_backend_sched_synchronize(m.sched.get());
    EXPECT_EQ(result[3], 12.0f);
}

TEST(pipeline, waits_before_copies_of_graphs_in_flight_move) {
    Machine m({device_options("A")}, /*parallel=*/true);
    Weight weight(m.backend(0), kSize, kSize, kTwice);
    Weight large(m.backend(0), 4 * kSize, 1, counting(4 * kSize));
    // The larger input takes the place of the smaller one's copies, in buffers large enough for both.
    ggml_context_ptr ctx = make_context(64);
    ggml_tensor * x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4 * kSize);
    ggml_set_input(x);
    ggml_tensor * y = ggml_mul(ctx.get(), large.tensor, x);
    ggml_set_output(y);
    ggml_cgraph * graph = ggml_new_graph_custom(ctx.get(), 32, false);
    ggml_build_forward_expand(graph, y);
    ASSERT_TRUE(ggml_backend_sched_reserve(m.sched.get(), graph));

    DeviceGraph small(weight.tensor);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), small.graph));
    write(small.x, counting(kSize));
    std::vector<float> result(kSize);
    EXPECT_TRUE(waits_for_device(*m.devices[0], [&] {
        ggml_backend_sched_graph_compute_async(m.sched.get(), small.graph);
        ggml_backend_tensor_get_async(m.backend(0), small.y, result.data(), 0, ggml_nbytes(small.y));
        ggml_backend_sched_reset(m.sched.get());
        EXPECT_TRUE(ggml_backend_sched_alloc_graph(m.sched.get(), graph));
    }));
    ggml_backend_sched_synchronize(m.sched.get());
    for (size_t k = 0; k < kSize; ++k) ASSERT_EQ(result[k], 4 * float(k));
}

} // namespace
} // namespace ggml::test
