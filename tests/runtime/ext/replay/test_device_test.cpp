// The parts of the test device that other tests rely on: recording, launching, skipped nodes.
#include "runtime/backend/interface.h"
#include "tests/runtime/ext/replay/fixture.h"

#include <gtest/gtest.h>

namespace ggml::ext::test {
namespace {

struct DeviceCase {
    explicit DeviceCase(TestDeviceOptions options = recording_device())
        : device(std::move(options)), backend(device.new_backend()) {}
    ~DeviceCase() {
        backend.reset();
        EXPECT_EQ(device.counters.recordings, 0);
        EXPECT_EQ(device.counters.failures, 0);
    }
    TestDevice device;
    ggml_backend_ptr backend;
    ggml_backend_t b() { return backend.get(); }
    const ggml_backend_replay_i & replay() { return *backend->iface.replay; }
};

TEST(test_device, records_what_is_queued_and_runs_it_at_each_launch) {
    DeviceCase c;
    int runs = 0;
    ASSERT_EQ(c.replay().begin(c.b()), GGML_STATUS_SUCCESS);
    enqueue(c.b(), [&] { ++runs; });
    void * recording = nullptr;
    ASSERT_EQ(c.replay().end(c.b(), true, &recording), GGML_STATUS_SUCCESS);
    ASSERT_NE(recording, nullptr);
    ggml_backend_synchronize(c.b());
    EXPECT_EQ(runs, 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(c.replay().launch(c.b(), recording), GGML_STATUS_SUCCESS);
    ggml_backend_synchronize(c.b());
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(c.device.counters.launches, 3);
    c.replay().free(c.b(), recording);
}

TEST(test_device, synchronous_devices_record_too) {
    TestDeviceOptions options = recording_device();
    options.async = false;
    DeviceCase c(options);
    int runs = 0;
    ASSERT_EQ(c.replay().begin(c.b()), GGML_STATUS_SUCCESS);
    enqueue(c.b(), [&] { ++runs; });
    void * recording = nullptr;
    ASSERT_EQ(c.replay().end(c.b(), true, &recording), GGML_STATUS_SUCCESS);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(c.replay().launch(c.b(), recording), GGML_STATUS_SUCCESS);
    EXPECT_EQ(runs, 1);
    c.replay().free(c.b(), recording);
}

TEST(test_device, recordings_do_not_nest_and_are_not_launched_into_each_other) {
    DeviceCase c;
    void * recording = nullptr;
    ASSERT_EQ(c.replay().begin(c.b()), GGML_STATUS_SUCCESS);
    EXPECT_EQ(c.replay().begin(c.b()), GGML_STATUS_FAILED);
    ASSERT_EQ(c.replay().end(c.b(), true, &recording), GGML_STATUS_SUCCESS);
    begin_capture(c.b());
    EXPECT_TRUE(c.replay().is_enclosed(c.b()));
    EXPECT_EQ(c.replay().launch(c.b(), recording), GGML_STATUS_FAILED);
    EXPECT_TRUE(end_capture(c.b()));
    EXPECT_FALSE(c.replay().is_enclosed(c.b()));
    c.replay().free(c.b(), recording);
}

TEST(test_device, the_host_cannot_wait_inside_a_recording) {
    DeviceCase c;
    begin_capture(c.b());
    ggml_backend_synchronize(c.b());
    EXPECT_FALSE(end_capture(c.b()));
}

TEST(test_device, what_is_ended_without_keeping_is_gone) {
    DeviceCase c;
    int runs = 0;
    ASSERT_EQ(c.replay().begin(c.b()), GGML_STATUS_SUCCESS);
    enqueue(c.b(), [&] { ++runs; });
    void * recording = &runs;
    EXPECT_EQ(c.replay().end(c.b(), false, &recording), GGML_STATUS_SUCCESS);
    EXPECT_EQ(recording, nullptr);
    ggml_backend_synchronize(c.b());
    EXPECT_EQ(runs, 0);
}

TEST(test_device, finds_recordings_that_are_freed_while_they_run) {
    TestDevice device(recording_device());
    ggml_backend_ptr backend(device.new_backend());
    const ggml_backend_replay_i & replay = *backend->iface.replay;
    void * recording = nullptr;
    ASSERT_EQ(replay.begin(backend.get()), GGML_STATUS_SUCCESS);
    ASSERT_EQ(replay.end(backend.get(), true, &recording), GGML_STATUS_SUCCESS);
    device.hold();
    ASSERT_EQ(replay.launch(backend.get(), recording), GGML_STATUS_SUCCESS);
    replay.free(backend.get(), recording);
    device.release();
    EXPECT_EQ(device.counters.failures, 1);
}

// neg(sqr(a)) on a device that fuses the two.
TEST(test_device, computes_nodes_it_skips_without_storage_for_them) {
    TestDeviceOptions options;
    options.skip_alloc = [](const ggml_cgraph *, const ggml_tensor * node) {
        return node->op == GGML_OP_SQR;
    };
    int optimized = 0;
    options.graph_optimize = [&](ggml_cgraph * graph) { optimized += ggml_graph_n_nodes(graph); };
    DeviceCase c(options);
    ggml_context_ptr ctx(ggml_init({16 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
    ggml_tensor * a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
    ggml_tensor * squared = ggml_sqr(ctx.get(), a);
    ggml_tensor * out = ggml_neg(ctx.get(), ggml_reshape_2d(ctx.get(), squared, 2, 2));
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph, out);
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(c.device.buffer_type(), 4096));
    auto * base = static_cast<char *>(ggml_backend_buffer_get_base(buffer.get()));
    ASSERT_EQ(ggml_backend_tensor_alloc(buffer.get(), a, base), GGML_STATUS_SUCCESS);
    ASSERT_EQ(ggml_backend_tensor_alloc(buffer.get(), out, base + 1024), GGML_STATUS_SUCCESS);
    const float values[] = {1, 2, 3, 4};
    float result[4] = {};
    ggml_backend_tensor_set(a, values, 0, sizeof(values));
    ASSERT_EQ(ggml_backend_graph_compute(c.b(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(out, result, 0, sizeof(result));
    EXPECT_EQ(std::vector<float>(result, result + 4), (std::vector<float>{-1, -4, -9, -16}));
    EXPECT_EQ(squared->data, nullptr);
    EXPECT_TRUE(c.b()->iface.skip_alloc(c.b(), graph, squared));
    c.b()->iface.graph_optimize(c.b(), graph);
    EXPECT_EQ(optimized, 3);
}

} // namespace
} // namespace ggml::ext::test
