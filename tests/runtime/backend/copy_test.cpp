#include "tests/runtime/backend/fixture.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

// One tensor on the host and one on each of two devices.
struct Places {
    TestDevice device1, device2;
    ggml_context_ptr ctx[3] = {make_context(), make_context(), make_context()};
    ggml_tensor * tensor[3];
    ggml_backend_buffer_ptr buffer[3];
    ggml_backend_ptr stream1{device1.new_backend()}, stream2{device2.new_backend()},
        cpu{ggml_backend_cpu_init()};

    explicit Places(int64_t n = 4096) {
        const ggml_backend_buffer_type_t types[3] = {ggml_backend_cpu_buffer_type(), device1.buffer_type(),
                                                     device2.buffer_type()};
        for (int i = 0; i < 3; ++i) {
            tensor[i] = ggml_new_tensor_1d(ctx[i].get(), GGML_TYPE_F32, n);
            buffer[i].reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx[i].get(), types[i]));
        }
    }
};

TEST(tensor_copy, moves_data_between_any_two_places) {
    Places p(300000); // more than one piece of the way through the host
    const std::vector<float> values = counting(300000);
    for (int from = 0; from < 3; ++from) {
        for (int to = 0; to < 3; ++to) {
            if (from == to) continue;
            write(p.tensor[from], values);
            ggml_backend_tensor_memset(p.tensor[to], 0, 0, ggml_nbytes(p.tensor[to]));
            ggml_backend_tensor_copy(p.tensor[from], p.tensor[to]);
            EXPECT_EQ(read(p.tensor[to]), values) << from << " to " << to;
        }
    }
}

TEST(tensor_copy, keeps_the_gaps_of_a_strided_view_in_step) {
    TestDevice device;
    ggml_context_ptr host = make_context(), remote = make_context();
    ggml_tensor * owner = ggml_new_tensor_2d(host.get(), GGML_TYPE_F32, 8, 4);
    ggml_tensor * view = ggml_view_2d(host.get(), owner, 3, 4, owner->nb[1], 2 * sizeof(float));
    ggml_backend_buffer_ptr host_buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(host.get(), ggml_backend_cpu_buffer_type()));
    ggml_tensor * copy = ggml_new_tensor_2d(remote.get(), GGML_TYPE_F32, 3, 4);
    std::copy(view->nb, view->nb + GGML_MAX_DIMS, copy->nb);
    ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(remote.get(), device.buffer_type()));
    write(owner, counting(32));
    ggml_backend_tensor_copy(view, copy);
    float last = 0;
    ggml_backend_tensor_get(copy, &last, 3 * view->nb[1] + 2 * sizeof(float), sizeof last);
    EXPECT_EQ(last, 28.0f);
}

TEST(tensor_copy_death, of_different_shapes_stops_with_both_names) {
    Places p;
    ggml_tensor * other = ggml_new_tensor_1d(p.ctx[0].get(), GGML_TYPE_F32, 8);
    ggml_set_name(p.tensor[0], "large");
    ggml_set_name(other, "small");
    GTEST_FLAG_SET(death_test_style, "threadsafe"); // there are worker threads
    EXPECT_DEATH(ggml_backend_tensor_copy(p.tensor[0], other), "'large' and 'small' differ");
}

TEST(tensor_copy_async, between_streams_waits_for_earlier_work_of_the_source) {
    Places p;
    const std::vector<float> values = counting(4096, 7);
    ggml_backend_tensor_memset(p.tensor[1], 0, 0, ggml_nbytes(p.tensor[1]));
    p.device1.hold();
    ggml_backend_tensor_set_async(p.stream1.get(), p.tensor[1], values.data(), 0, ggml_nbytes(p.tensor[1]));
    ggml_backend_tensor_copy_async(p.stream1.get(), p.stream2.get(), p.tensor[1], p.tensor[2]);
    EXPECT_EQ(p.device2.counters.async_copies, 1);
    // Neither has happened: the source's stream stands still.
    EXPECT_EQ(read(p.tensor[1])[1], 0.0f);
    p.device1.release();
    ggml_backend_synchronize(p.stream2.get());
    EXPECT_EQ(read(p.tensor[2]), values);
}

TEST(tensor_copy_async, holds_back_later_work_of_the_destination) {
    Places p;
    write(p.tensor[1], counting(4096, 7));
    std::vector<float> seen(4096);
    p.device1.hold();
    ggml_backend_tensor_copy_async(p.stream1.get(), p.stream2.get(), p.tensor[1], p.tensor[2]);
    ggml_backend_tensor_get_async(p.stream2.get(), p.tensor[2], seen.data(), 0, ggml_nbytes(p.tensor[2]));
    p.device1.release();
    ggml_backend_synchronize(p.stream2.get());
    EXPECT_EQ(seen, counting(4096, 7));
}

TEST(tensor_copy_async, falls_back_to_a_finished_copy_where_streams_cannot_reach_each_other) {
    Places p;
    const std::vector<float> values = counting(4096, 3);
    ggml_backend_tensor_set_async(p.stream1.get(), p.tensor[1], values.data(), 0, ggml_nbytes(p.tensor[1]));
    ggml_backend_tensor_copy_async(p.stream1.get(), p.cpu.get(), p.tensor[1], p.tensor[0]);
    EXPECT_EQ(read(p.tensor[0]), values);
    write(p.tensor[0], counting(4096, 9));
    ggml_backend_tensor_copy_async(p.cpu.get(), p.stream2.get(), p.tensor[0], p.tensor[2]);
    EXPECT_EQ(read(p.tensor[2]), counting(4096, 9));
    EXPECT_EQ(p.device2.counters.async_copies, 0);
}

TEST(tensor_set_async, in_two_dimensions_is_done_after_synchronizing) {
    Places p(32);
    ggml_backend_buffer_clear(p.buffer[1].get(), 0);
    const std::vector<float> values = counting(4, 1);
    std::vector<float> back(4);
    ggml_backend_tensor_set_2d_async(p.stream1.get(), p.tensor[1], values.data(), 0, 4, 4, 32, 4);
    ggml_backend_tensor_get_2d_async(p.stream1.get(), p.tensor[1], back.data(), 0, 4, 4, 32, 4);
    ggml_backend_synchronize(p.stream1.get());
    EXPECT_EQ(back, values);
    EXPECT_EQ(read(p.tensor[1])[24], 4.0f);
}

TEST(tensor_set_async, on_a_synchronous_backend_is_done_at_once) {
    Places p(4);
    const std::vector<float> values = counting(4, 1);
    ggml_backend_tensor_set_async(p.cpu.get(), p.tensor[0], values.data(), 0, 16);
    EXPECT_EQ(read(p.tensor[0]), values);
    std::vector<float> back(4);
    ggml_backend_tensor_get_async(p.cpu.get(), p.tensor[0], back.data(), 0, 16);
    EXPECT_EQ(back, values);
}

TEST(event, makes_another_stream_wait_for_the_point_it_was_recorded_at) {
    Places p;
    ggml_backend_event_ptr event(ggml_backend_event_new(p.device1.device()));
    ASSERT_NE(event, nullptr);
    const std::vector<float> values = counting(4096, 5);
    std::vector<float> passed_on(4096);
    p.device1.hold();
    // Stream 2 uploads what stream 1 downloads: right only if it waits.
    write(p.tensor[1], values);
    ggml_backend_tensor_get_async(p.stream1.get(), p.tensor[1], passed_on.data(), 0,
                                  ggml_nbytes(p.tensor[1]));
    ggml_backend_event_record(event.get(), p.stream1.get());
    ggml_backend_event_wait(p.stream2.get(), event.get());
    ggml_backend_tensor_set_async(p.stream2.get(), p.tensor[2], passed_on.data(), 0,
                                  ggml_nbytes(p.tensor[2]));
    p.device1.release();
    ggml_backend_synchronize(p.stream2.get());
    EXPECT_EQ(read(p.tensor[2]), values);
}

TEST(event, lets_the_host_wait) {
    Places p;
    ggml_backend_event_ptr event(ggml_backend_event_new(p.device1.device()));
    const std::vector<float> values = counting(4096, 2);
    ggml_backend_tensor_set_async(p.stream1.get(), p.tensor[1], values.data(), 0, ggml_nbytes(p.tensor[1]));
    ggml_backend_event_record(event.get(), p.stream1.get());
    ggml_backend_event_synchronize(event.get());
    EXPECT_EQ(read(p.tensor[1]), values);
}

TEST(event, that_was_never_recorded_blocks_nobody) {
    TestDevice device;
    ggml_backend_ptr stream(device.new_backend());
    ggml_backend_event_ptr event(ggml_backend_event_new(device.device()));
    ggml_backend_event_synchronize(event.get());
    ggml_backend_event_wait(stream.get(), event.get());
    ggml_backend_synchronize(stream.get());
}

TEST(event, is_null_on_a_device_without_events) {
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    EXPECT_EQ(ggml_backend_event_new(ggml_backend_get_device(cpu.get())), nullptr);
    ggml_backend_event_free(nullptr);
}

} // namespace
} // namespace ggml::test
