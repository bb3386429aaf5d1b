#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include "runtime/ops/params.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

const RunOptions kThreads = {{1, 2, 8}, false, true};

TEST(set, replaces_exactly_the_region) {
    OpCheck c;
    ggml_tensor * a = c.values({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {4, 3, 1, 1});
    ggml_tensor * b = c.values({-1, -2, -3, -4}, {2, 2, 1, 1});
    const size_t offset = a->nb[1] + a->nb[0];
    ggml_tensor * result = ggml_set(c.ctx(), a, b, a->nb[1], a->nb[2], a->nb[3], offset);
    const std::vector<double> expected = {0, 1, 2, 3, 4, -1, -2, 7, 8, -3, -4, 11};
    EXPECT_EQ(c.compute(result, true), expected);
    EXPECT_EQ(c.compute(result, false, 2), expected);
    EXPECT_EQ(read_elements(a)[5], 5.0);
    EXPECT_EQ(c.compute(ggml_set_inplace(c.ctx(), a, b, a->nb[1], a->nb[2], a->nb[3], offset), false),
              expected);
    EXPECT_EQ(read_elements(a), expected);
}

TEST(set, takes_regions_in_any_layout_of_any_plain_type) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_I32, GGML_TYPE_F16, GGML_TYPE_I64}) {
        for (const Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::transposed01}) {
            OpCheck c;
            ggml_tensor * a = c.input(type, {67, 31, 5, 2}, Layout::contiguous, -50, 50);
            ggml_tensor * b = c.input(type, {41, 17, 3, 2}, layout, -50, 50);
            const size_t offset = 7 * a->nb[0] + 3 * a->nb[1] + a->nb[2];
            c.check(ggml_set(c.ctx(), a, b, a->nb[1], a->nb[2], a->nb[3], offset), kExact, kThreads);
            c.check(ggml_set_inplace(c.ctx(), a, b, a->nb[1], a->nb[2], a->nb[3], offset), kExact, kThreads);
            c.check(ggml_set_1d(c.ctx(), a, c.input(type, {70000 / 40, 1, 1, 1}), 40 * a->nb[0]), kExact,
                    kThreads);
        }
    }
}

TEST(set, an_empty_region_copies) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {5, 4, 1, 1});
    ggml_tensor * b = c.input(GGML_TYPE_F32, {0, 2, 1, 1});
    EXPECT_EQ(c.compute(ggml_set_1d(c.ctx(), a, b, 0), false), read_elements(a));
}

TEST(set, refuses_a_region_that_leaves_the_tensor) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {8, 4, 1, 1});
    ggml_tensor * b = c.input(GGML_TYPE_F32, {3, 2, 1, 1});
    ggml_tensor * node = ggml_set_2d(c.ctx(), a, b, a->nb[1], 2 * a->nb[1] + 5 * a->nb[0]);
    const auto supports = cpu::find_kernels(GGML_OP_SET)->supports;
    EXPECT_TRUE(supports(node));
    auto p = get_params<RegionParams>(node);
    p.offset += int32_t(sizeof(float));
    set_params(node, p);
    EXPECT_FALSE(supports(node));
    EXPECT_EQ(c.compute_status(node, false), GGML_STATUS_FAILED);
    p.offset = -4;
    set_params(node, p);
    EXPECT_FALSE(supports(node));
}

} // namespace
} // namespace ggml::test
