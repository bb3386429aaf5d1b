#include "runtime/tensor/context.h"

#include "tests/support/log_capture.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace {

using ggml::arena_object_bytes;
using ggml::arena_try_new;

TEST(context, of_no_bytes_is_legal_and_empty) {
    ggml_context * ctx = ggml_init({0, nullptr, true});
    ASSERT_NE(ctx, nullptr);
    EXPECT_EQ(ggml_used_mem(ctx), 0u);
    EXPECT_NE(ggml_get_mem_buffer(ctx), nullptr);
    EXPECT_EQ(ggml_get_first_tensor(ctx), nullptr);
    EXPECT_EQ(ggml_get_max_tensor_size(ctx), 0u);
    ggml_free(ctx);
}

TEST(context, null_can_be_freed_and_reset) {
    ggml_free(nullptr);
    ggml_reset(nullptr);
    SUCCEED();
}

TEST(context, holds_exactly_as_many_tensors_as_their_overhead_says) {
    ggml_context * ctx = ggml_init({3 * ggml_tensor_overhead(), nullptr, true});
    for (int i = 1; i <= 3; ++i) {
        ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1000);
        EXPECT_EQ(ggml_used_mem(ctx), size_t(i) * ggml_tensor_overhead());
    }
    EXPECT_EQ(arena_try_new(ctx, GGML_OBJECT_TYPE_WORK_BUFFER, 0), nullptr);
    ggml_free(ctx);
}

TEST(context, exact_fit_counts_tensor_data_padded) {
    const size_t bytes = ggml_tensor_overhead() + 16;
    ggml_context * ctx = ggml_init({bytes, nullptr, false});
    ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 9);
    EXPECT_EQ(ggml_used_mem(ctx), bytes);
    EXPECT_EQ(t->data, t + 1);
    ggml_free(ctx);
}

TEST(context_death_test, overflow_stops_with_the_bytes_needed) {
    ggml_context * ctx = ggml_init({ggml_tensor_overhead() + 32, nullptr, false});
    const std::string needed = std::to_string(ggml_tensor_overhead() + 48) + " bytes needed, " +
                               std::to_string(ggml_tensor_overhead() + 32) + " given to ggml_init";
    EXPECT_DEATH(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 9), needed);
    EXPECT_DEATH(ggml_new_buffer(ctx, SIZE_MAX - 4), "does not fit into memory");
    ggml_free(ctx);
}

TEST(context, a_failed_try_changes_nothing) {
    ggml_context * ctx = ggml_init({arena_object_bytes(64), nullptr, true});
    EXPECT_EQ(arena_try_new(ctx, GGML_OBJECT_TYPE_WORK_BUFFER, 65), nullptr);
    EXPECT_EQ(arena_try_new(ctx, GGML_OBJECT_TYPE_WORK_BUFFER, SIZE_MAX), nullptr);
    EXPECT_EQ(ggml_used_mem(ctx), 0u);
    EXPECT_NE(arena_try_new(ctx, GGML_OBJECT_TYPE_WORK_BUFFER, 64), nullptr);
    ggml_free(ctx);
}

TEST(context, reset_forgets_objects_and_reuses_the_memory) {
    ggml_context * ctx = ggml_init({1 << 16, nullptr, false});
    ggml_tensor * first = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    ggml_reset(ctx);
    EXPECT_EQ(ggml_used_mem(ctx), 0u);
    EXPECT_EQ(ggml_get_first_tensor(ctx), nullptr);
    EXPECT_EQ(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), first);
    EXPECT_EQ(ggml_get_next_tensor(ctx, first), nullptr);
    ggml_free(ctx);
}

TEST(context, lives_in_the_callers_buffer_and_leaves_it_alive) {
    alignas(GGML_MEM_ALIGN) static uint8_t memory[4096];
    ggml_context * ctx = ggml_init({sizeof(memory), memory, false});
    EXPECT_EQ(ggml_get_mem_buffer(ctx), memory);
    EXPECT_EQ(ggml_get_mem_size(ctx), sizeof(memory));
    ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    EXPECT_GE(reinterpret_cast<uint8_t *>(t), memory);
    EXPECT_LT(reinterpret_cast<uint8_t *>(t), memory + sizeof(memory));
    ggml_free(ctx);
    memory[0] = 1;
}

TEST(context_death_test, refuses_a_misaligned_buffer) {
    alignas(GGML_MEM_ALIGN) static uint8_t memory[64];
    EXPECT_DEATH(ggml_init({32, memory + 1, false}), "not aligned to 16 bytes");
}

TEST(context, out_of_memory_is_null_and_says_so) {
    ggml::test::LogCapture log;
    EXPECT_EQ(ggml_init({SIZE_MAX, nullptr, false}), nullptr);
    EXPECT_NE(log.text.find("out of memory"), std::string::npos);
}

TEST(context, no_alloc_can_be_switched_between_tensors) {
    ggml_context * ctx = ggml_init({1 << 16, nullptr, true});
    EXPECT_TRUE(ggml_get_no_alloc(ctx));
    EXPECT_EQ(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)->data, nullptr);
    ggml_set_no_alloc(ctx, false);
    EXPECT_FALSE(ggml_get_no_alloc(ctx));
    EXPECT_NE(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)->data, nullptr);
    ggml_free(ctx);
}

TEST(context, buffers_are_aligned_and_skipped_when_tensors_are_listed) {
    ggml_context * ctx = ggml_init({1 << 16, nullptr, false});
    ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 1);
    void * buffer = ggml_new_buffer(ctx, 3);
    ggml_tensor * b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % GGML_MEM_ALIGN, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b->data) % GGML_MEM_ALIGN, 0u);
    EXPECT_EQ(ggml_get_first_tensor(ctx), a);
    EXPECT_EQ(ggml_get_next_tensor(ctx, a), b);
    EXPECT_EQ(ggml_get_next_tensor(ctx, b), nullptr);
    ggml_free(ctx);
}

TEST(context, largest_tensor_counts_views_and_unallocated_ones) {
    ggml_context * ctx = ggml_init({1 << 16, nullptr, true});
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 10);
    ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 100);
    EXPECT_EQ(ggml_get_max_tensor_size(ctx), 3600u);
    ggml_free(ctx);
}

TEST(context, prints_one_line_per_object) {
    ggml_context * ctx = ggml_init({1 << 16, nullptr, true});
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 10);
    ggml_new_buffer(ctx, 64);
    ggml::test::LogCapture log;
    ggml_print_objects(ctx);
    size_t lines = 0;
    for (size_t at = log.text.find(" - object:"); at != std::string::npos;
         at = log.text.find(" - object:", at + 1)) {
        ++lines;
    }
    EXPECT_EQ(lines, 2u);
    EXPECT_NE(log.text.find("size = 64"), std::string::npos);
    ggml_free(ctx);
}

} // namespace
