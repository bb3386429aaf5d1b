// The parts copies are made of: common loops, runs, tiles.
#include "backends/cpu/kernels/copy/loops.h"
#include "backends/cpu/kernels/copy/transpose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ggml::cpu {
namespace {

Grid grid(std::vector<int64_t> n, std::vector<size_t> stride) {
    Grid g;
    g.dims = int(n.size());
    std::copy(n.begin(), n.end(), g.n);
    std::copy(stride.begin(), stride.end(), g.stride);
    return g;
}

TEST(common_loops, split_a_dimension_that_the_other_side_splits) {
    LoopNest nest;
    ASSERT_TRUE(common_loops(grid({6, 4}, {4, 24}), grid({24}, {4}), nest));
    ASSERT_EQ(nest.count, 2);
    EXPECT_EQ(nest.loop[1].n, 4);
    EXPECT_EQ(nest.loop[1].dst, 24u);
    nest.simplify();
    EXPECT_EQ(nest.count, 1);
    EXPECT_EQ(nest.loop[0].n, 24);
}

TEST(common_loops, do_not_exist_for_shapes_that_interleave) {
    LoopNest nest;
    EXPECT_FALSE(common_loops(grid({6, 4}, {4, 100}), grid({4, 6}, {4, 100}), nest));
}

TEST(common_loops, order_follows_the_destination) {
    LoopNest nest;
    ASSERT_TRUE(common_loops(grid({5, 7}, {4, 20}), grid({5, 7}, {28, 4}), nest));
    nest.simplify();
    ASSERT_EQ(nest.count, 2);
    EXPECT_EQ(nest.loop[0].n, 7);
    EXPECT_EQ(nest.loop[0].dst, 4u);
    EXPECT_EQ(nest.loop[0].src, 20u);
}

TEST(for_each_run, any_split_visits_every_unit_once) {
    LoopNest nest;
    nest.add(5, 1, 1);
    nest.add(3, 10, 10);
    nest.add(4, 100, 100);
    std::vector<size_t> all;
    for_each_run(nest, 0, 60, [&](size_t s, size_t, int64_t n) {
        for (int64_t i = 0; i < n; ++i) all.push_back(s + size_t(i));
    });
    ASSERT_EQ(all.size(), 60u);
    for (int64_t cut = 0; cut <= 60; ++cut) {
        std::vector<size_t> parts;
        for (const auto & [b, e] : {std::pair<int64_t, int64_t>{0, cut}, {cut, 60}}) {
            for_each_run(nest, b, e, [&](size_t s, size_t d, int64_t n) {
                EXPECT_EQ(s, d);
                for (int64_t i = 0; i < n; ++i) parts.push_back(s + size_t(i));
            });
        }
        EXPECT_EQ(parts, all) << cut;
    }
}

TEST(transpose_tile, swaps_rows_and_columns_for_every_unit_and_remainder) {
    for (const size_t unit : {1u, 2u, 4u, 8u}) {
        for (int64_t rows = 1; rows <= 19; rows += 3) {
            for (int64_t cols = 1; cols <= 18; ++cols) {
                // Odd pitches: no alignment may be assumed.
                const size_t in_stride = size_t(cols) * unit + 3, out_stride = size_t(rows) * unit + 5;
                std::vector<char> in(in_stride * size_t(rows)), out(out_stride * size_t(cols), 0x77);
                std::iota(in.begin(), in.end(), char(1));
                transpose_tile(unit, in.data(), in_stride, out.data(), out_stride, rows, cols);
                for (int64_t c = 0; c < cols; ++c) {
                    const char * row = out.data() + size_t(c) * out_stride;
                    for (int64_t r = 0; r < rows; ++r) {
                        const char * expected = in.data() + size_t(r) * in_stride + size_t(c) * unit;
                        ASSERT_TRUE(std::equal(expected, expected + unit, row + size_t(r) * unit))
                            << unit << " " << rows << " " << cols;
                    }
                    for (size_t gap = size_t(rows) * unit; gap < out_stride; ++gap) ASSERT_EQ(row[gap], 0x77);
                }
            }
        }
    }
}

} // namespace
} // namespace ggml::cpu
