#include "runtime/alloc/block_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace ggml::alloc {
namespace {

size_t offset_of(BlockAllocator & memory, size_t bytes) {
    BlockAddress at;
    EXPECT_TRUE(memory.allocate(bytes, at));
    EXPECT_EQ(at.chunk, 0);
    return at.offset;
}

TEST(block_allocator, rounds_offsets_and_sizes_to_the_alignment) {
    BlockAllocator memory(64, SIZE_MAX);
    EXPECT_EQ(offset_of(memory, 1), 0u);
    EXPECT_EQ(offset_of(memory, 65), 64u);
    EXPECT_EQ(offset_of(memory, 64), 192u);
    EXPECT_EQ(memory.chunk_sizes(), (std::vector<size_t>{256}));
}

TEST(block_allocator, a_block_of_no_bytes_has_an_address_of_its_own) {
    BlockAllocator memory(16, SIZE_MAX);
    EXPECT_EQ(offset_of(memory, 0), 0u);
    EXPECT_EQ(offset_of(memory, 0), 16u);
    EXPECT_EQ(memory.chunk_sizes(), (std::vector<size_t>{32}));
}

TEST(block_allocator, takes_the_smallest_hole_that_is_large_enough) {
    BlockAllocator memory(1, SIZE_MAX);
    const size_t large = offset_of(memory, 100);
    offset_of(memory, 1);
    const size_t small = offset_of(memory, 20);
    offset_of(memory, 1);
    memory.release({0, large}, 100);
    memory.release({0, small}, 20);
    EXPECT_EQ(offset_of(memory, 15), small);
    EXPECT_EQ(offset_of(memory, 15), large);
    EXPECT_EQ(memory.chunk_sizes(), (std::vector<size_t>{122}));
}

TEST(block_allocator, joins_neighbours_in_any_order_of_release) {
    std::vector<size_t> order = {0, 1, 2};
    do {
        BlockAllocator memory(1, SIZE_MAX);
        for (int i = 0; i < 3; ++i) offset_of(memory, 10);
        offset_of(memory, 1); // keeps the hole apart from the open end
        for (size_t i : order) memory.release({0, 10 * i}, 10);
        EXPECT_EQ(offset_of(memory, 30), 0u);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(block_allocator, gives_back_the_tail_of_a_block) {
    BlockAllocator memory(1, SIZE_MAX);
    offset_of(memory, 100);
    offset_of(memory, 1);
    memory.release({0, 40}, 60);
    EXPECT_EQ(offset_of(memory, 60), 40u);
}

TEST(block_allocator, opens_a_chunk_when_no_block_fits_the_limit) {
    BlockAllocator memory(16, 100); // 96 usable
    BlockAddress at;
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(memory.allocate(48, at));
        EXPECT_EQ(at.chunk, i / 2);
    }
    EXPECT_EQ(memory.chunk_sizes(), (std::vector<size_t>{96, 96, 48}));
}

TEST(block_allocator, a_block_beyond_the_limit_gets_a_chunk_to_itself) {
    BlockAllocator memory(16, 64);
    BlockAddress at;
    ASSERT_TRUE(memory.allocate(32, at));
    ASSERT_TRUE(memory.allocate(1000, at));
    EXPECT_EQ(at.chunk, 1);
    ASSERT_TRUE(memory.allocate(32, at));
    EXPECT_EQ(at.chunk, 0);
    EXPECT_EQ(memory.chunk_sizes(), (std::vector<size_t>{64, 1008}));
}

TEST(block_allocator, prefers_an_open_end_that_was_used_before_to_growth) {
    BlockAllocator memory(1, 100);
    BlockAddress first, second, third;
    ASSERT_TRUE(memory.allocate(90, first));
    ASSERT_TRUE(memory.allocate(50, second));
    EXPECT_EQ(second.chunk, 1);
    memory.release(first, 90);
    ASSERT_TRUE(memory.allocate(40, third));
    EXPECT_EQ(third.chunk, 0) << "chunk 1 would have to grow";
    EXPECT_EQ(memory.chunk_sizes(), (std::vector<size_t>{90, 50}));
}

TEST(block_allocator, refuses_what_no_address_can_hold) {
    BlockAllocator memory(64, SIZE_MAX);
    BlockAddress at;
    EXPECT_FALSE(memory.allocate(SIZE_MAX, at));
    EXPECT_FALSE(memory.allocate(SIZE_MAX - 62, at));
    EXPECT_FALSE(memory.allocate(SIZE_MAX / 2 + 1, at));
    EXPECT_TRUE(memory.chunk_sizes().empty());
}

struct Block {
    BlockAddress at;
    size_t bytes;
};

bool overlap(const Block & a, const Block & b) {
    return a.at.chunk == b.at.chunk && a.at.offset < b.at.offset + b.bytes &&
           b.at.offset < a.at.offset + a.bytes;
}

TEST(block_allocator, blocks_never_overlap_and_all_memory_comes_back) {
    for (size_t limit : {size_t(500), size_t(4096), SIZE_MAX}) {
        std::mt19937 random(7);
        BlockAllocator memory(8, limit);
        std::vector<Block> live;
        for (int step = 0; step < 2000; ++step) {
            if (random() % 3 != 0 || live.empty()) {
                Block block;
                ASSERT_TRUE(memory.block_bytes(random() % 400, block.bytes));
                ASSERT_TRUE(memory.allocate(block.bytes, block.at));
                EXPECT_EQ(block.at.offset % 8, 0u);
                for (const Block & other : live) ASSERT_FALSE(overlap(block, other)) << step;
                live.push_back(block);
            } else {
                std::swap(live[random() % live.size()], live.back());
                memory.release(live.back().at, live.back().bytes);
                live.pop_back();
            }
        }
        for (const Block & block : live) memory.release(block.at, block.bytes);
        const std::vector<size_t> sizes = memory.chunk_sizes();
        for (size_t size : sizes) EXPECT_LE(size, std::max(limit, size_t(400)));
        for (size_t c = 0; c < sizes.size(); ++c) {
            BlockAddress at;
            ASSERT_TRUE(memory.allocate(*std::max_element(sizes.begin(), sizes.end()), at));
        }
        EXPECT_EQ(memory.chunk_sizes().size(), sizes.size()) << "everything fits into what was there";
    }
}

} // namespace
} // namespace ggml::alloc
