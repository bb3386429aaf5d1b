#include "runtime/sched/tensor_table.h"

#include <gtest/gtest.h>
#include <memory>

namespace ggml::sched {
namespace {

TEST(tensor_table, gives_dense_slots_that_stay_while_it_grows) {
    constexpr int kCount = 5000;
    const auto tensors = std::make_unique<ggml_tensor[]>(kCount);
    TensorTable table;
    for (int i = 0; i < kCount; ++i) ASSERT_EQ(table.insert(&tensors[size_t(i)]), i);
    for (int i = 0; i < kCount; ++i) {
        ASSERT_EQ(table.find(&tensors[size_t(i)]), i);
        ASSERT_EQ(table.insert(&tensors[size_t(i)]), i);
        ASSERT_EQ(table[i].tensor, &tensors[size_t(i)]);
        ASSERT_EQ(table[i].backend, kNoBackend);
    }
    EXPECT_EQ(table.size(), size_t(kCount));
}

TEST(tensor_table, knows_nothing_before_the_first_insertion_and_after_clearing) {
    ggml_tensor a = {}, b = {};
    TensorTable table;
    EXPECT_EQ(table.find(&a), kNoSlot);
    table[table.insert(&a)].backend = 3;
    EXPECT_EQ(table.find(&b), kNoSlot);
    table.clear();
    EXPECT_EQ(table.find(&a), kNoSlot);
    EXPECT_EQ(table[table.insert(&a)].backend, kNoBackend);
}

} // namespace
} // namespace ggml::sched
