#include "runtime/backend/interface.h"
#include "tests/runtime/backend/fixture.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

// Lack of memory is tested here, and AddressSanitizer would end the program instead of returning null.
extern "C" const char * __asan_default_options() { return "allocator_may_return_null=1"; }

namespace ggml::test {
namespace {

TEST(host_buffer, starts_at_its_alignment_and_is_host_memory) {
    ggml_backend_buffer_type_t type = ggml_backend_cpu_buffer_type();
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(type, 1000));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_size(buffer.get()), 1000u);
    EXPECT_TRUE(ggml_backend_buffer_is_host(buffer.get()));
    const auto base = reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(buffer.get()));
    EXPECT_EQ(base % ggml_backend_buft_get_alignment(type), 0u);
    EXPECT_EQ(ggml_backend_buffer_get_type(buffer.get()), type);
}

TEST(host_buffer, that_does_not_fit_is_null) {
    const LogCapture log;
    ggml_backend_buffer_type_t type = ggml_backend_cpu_buffer_type();
    EXPECT_EQ(ggml_backend_buft_alloc_buffer(type, SIZE_MAX), nullptr);
    EXPECT_EQ(ggml_backend_buft_alloc_buffer(type, SIZE_MAX / 2), nullptr);
    EXPECT_NE(log.text.find("cannot allocate a buffer"), std::string::npos) << log.text;
}

TEST(buffer, of_size_zero_has_no_memory_and_can_be_used_like_any_other) {
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 0));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_base(buffer.get()), nullptr);
    ggml_backend_buffer_clear(buffer.get(), 1);
    ggml_backend_buffer_reset(buffer.get());
}

TEST(borrowed_buffer, uses_the_callers_memory_and_leaves_it) {
    alignas(64) float memory[16] = {};
    {
        ggml_backend_buffer_ptr buffer(ggml_backend_cpu_buffer_from_ptr(memory, sizeof memory));
        ASSERT_NE(buffer, nullptr);
        EXPECT_EQ(ggml_backend_buffer_get_base(buffer.get()), memory);
        ggml_context_ptr ctx = make_context();
        ggml_tensor * t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 16);
        ASSERT_EQ(ggml_backend_tensor_alloc(buffer.get(), t, memory), GGML_STATUS_SUCCESS);
        write(t, counting(16));
    }
    EXPECT_EQ(memory[15], 15.0f);
}

TEST(borrowed_buffer, at_an_unaligned_address_is_refused) {
    const LogCapture log;
    alignas(64) char memory[64];
    EXPECT_EQ(ggml_backend_cpu_buffer_from_ptr(memory + 4, 32), nullptr);
    EXPECT_NE(log.text.find("not a multiple of 32"), std::string::npos) << log.text;
}

class TensorData : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 8, 4);
        ggml_set_name(t, "rows");
        view = ggml_view_1d(ctx.get(), t, 8, 8 * sizeof(float));
        ggml_backend_buffer_type_t type = GetParam() ? device.buffer_type() : ggml_backend_cpu_buffer_type();
        buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), type));
        ASSERT_NE(buffer, nullptr);
    }
    TestDevice device;
    ggml_context_ptr ctx = make_context();
    ggml_tensor *t = nullptr, *view = nullptr;
    ggml_backend_buffer_ptr buffer;
};

TEST_P(TensorData, is_read_back_as_written_at_any_offset) {
    write(t, counting(32));
    const float patch[2] = {-1, -2};
    ggml_backend_tensor_set(t, patch, 5 * sizeof(float), sizeof patch);
    std::vector<float> expected = counting(32);
    expected[5] = -1, expected[6] = -2;
    EXPECT_EQ(read(t), expected);
    float one = 0;
    ggml_backend_tensor_get(t, &one, 31 * sizeof(float), sizeof one);
    EXPECT_EQ(one, 31.0f);
}

TEST_P(TensorData, of_a_view_is_its_owners) {
    write(t, counting(32));
    EXPECT_EQ(read(view), counting(8, 8));
    write(view, counting(8, 100));
    EXPECT_EQ(read(t)[8], 100.0f);
}

TEST_P(TensorData, of_size_zero_is_not_looked_at) {
    ggml_backend_tensor_set(t, nullptr, ggml_nbytes(t) + 1, 0);
    ggml_backend_tensor_get(t, nullptr, 0, 0);
    ggml_backend_tensor_memset(t, 0, 0, 0);
}

TEST_P(TensorData, is_set_and_read_in_two_dimensions) {
    ggml_backend_buffer_clear(buffer.get(), 0);
    const std::vector<float> block = counting(12, 1); // 4 rows of 3 at distance 3
    ggml_backend_tensor_set_2d(t, block.data(), 2 * sizeof(float), 2 * sizeof(float), 4, 8 * sizeof(float),
                               3 * sizeof(float));
    const std::vector<float> all = read(t);
    for (size_t row = 0; row < 4; ++row) {
        EXPECT_EQ(all[row * 8 + 1], 0.0f);
        EXPECT_EQ(all[row * 8 + 2], float(row * 3 + 1));
        EXPECT_EQ(all[row * 8 + 3], float(row * 3 + 2));
        EXPECT_EQ(all[row * 8 + 4], 0.0f);
    }
    std::vector<float> back(8, -1);
    ggml_backend_tensor_get_2d(t, back.data(), 2 * sizeof(float), 2 * sizeof(float), 4, 8 * sizeof(float),
                               2 * sizeof(float));
    EXPECT_EQ(back, (std::vector<float>{1, 2, 4, 5, 7, 8, 10, 11}));
}

TEST_P(TensorData, is_filled_with_a_byte) {
    ggml_backend_buffer_clear(buffer.get(), 0);
    ggml_backend_tensor_memset(t, 0xff, 4, 8);
    std::vector<uint8_t> bytes(ggml_nbytes(t));
    ggml_backend_tensor_get(t, bytes.data(), 0, bytes.size());
    EXPECT_EQ(bytes[3], 0);
    EXPECT_EQ(bytes[4], 0xff);
    EXPECT_EQ(bytes[11], 0xff);
    EXPECT_EQ(bytes[12], 0);
}

using TensorDataDeath = TensorData;

TEST_P(TensorDataDeath, outside_the_tensor_stops_with_its_name_and_the_ranges) {
    float values[2] = {};
    EXPECT_DEATH(ggml_backend_tensor_set(t, values, 124, 8),
                 "'rows' has bytes \\[0, 128\\).*8 bytes from 124");
    EXPECT_DEATH(ggml_backend_tensor_get(t, values, SIZE_MAX, 8), "'rows' has bytes \\[0, 128\\)");
    EXPECT_DEATH(ggml_backend_tensor_memset(t, 0, 128, 1), "'rows' has bytes \\[0, 128\\)");
    EXPECT_DEATH(ggml_backend_tensor_set_2d(t, values, 0, 8, 2, 124, 0),
                 "2 x 8 bytes from 0 at distance 124");
}

TEST_P(TensorDataDeath, without_storage_stops_with_the_tensors_name) {
    ggml_tensor * loose = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1);
    ggml_set_name(loose, "loose");
    float value = 0;
    EXPECT_DEATH(ggml_backend_tensor_set(loose, &value, 0, 4), "'loose' has no storage");
}

const auto kPlaces = testing::Values(false, true);
const auto kPlaceName = [](const testing::TestParamInfo<bool> & p) {
    return p.param ? "on_device" : "on_host";
};
INSTANTIATE_TEST_SUITE_P(places, TensorData, kPlaces, kPlaceName);
INSTANTIATE_TEST_SUITE_P(places, TensorDataDeath, kPlaces, kPlaceName);

TEST(tensor_alloc_death, outside_the_buffer_stops_with_sizes) {
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64));
    ggml_context_ptr ctx = make_context();
    ggml_tensor * t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 17);
    EXPECT_DEATH(ggml_backend_tensor_alloc(buffer.get(), t, ggml_backend_buffer_get_base(buffer.get())),
                 "needs 68 bytes");
}

TEST(multi_buffer, holds_tensors_that_do_not_fit_one_buffer) {
    TestDeviceOptions options;
    options.max_buffer = 1024;
    TestDevice device(options);
    ggml_context_ptr ctx = make_context();
    std::vector<ggml_tensor *> tensors;
    for (int i = 0; i < 5; ++i) tensors.push_back(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 128));
    {
        ggml_backend_buffer_ptr buffer(
            ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), device.buffer_type()));
        ASSERT_NE(buffer, nullptr);
        EXPECT_TRUE(is_multi_buffer(buffer.get()));
        EXPECT_EQ(ggml_backend_buffer_get_size(buffer.get()), 5u * 512);
        ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        ggml_backend_buffer_clear(buffer.get(), 0);
        for (ggml_tensor * t : tensors) {
            EXPECT_EQ(ggml_backend_buffer_get_usage(t->buffer), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
            EXPECT_EQ(read(t), std::vector<float>(128, 0.0f));
        }
        for (size_t i = 0; i < tensors.size(); ++i) write(tensors[i], counting(128, float(i)));
        for (size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(read(tensors[i]), counting(128, float(i)));
    }
    EXPECT_EQ(device.counters.bytes_in_use, 0u);
}

TEST(device_buffer, that_does_not_fit_is_null_and_leaks_nothing) {
    TestDeviceOptions options;
    options.memory = 4096;
    TestDevice device(options);
    ggml_context_ptr ctx = make_context();
    for (int i = 0; i < 5; ++i) ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 256);
    const LogCapture log;
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), device.buffer_type()), nullptr);
    EXPECT_EQ(device.counters.bytes_in_use, 0u);
}

} // namespace
} // namespace ggml::test
