// DUP, CPY, CONT against their scalar reference, and the reference against values worked out by hand.
#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace ggml::test {
namespace {

constexpr ggml_type kPlain[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F64,
                                GGML_TYPE_I8,  GGML_TYPE_I16, GGML_TYPE_I32,  GGML_TYPE_I64};
constexpr ggml_type kFloats[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};
constexpr ggml_type kQuantized[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                    GGML_TYPE_Q8_0, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K,
                                    GGML_TYPE_Q5_K, GGML_TYPE_Q6_K};
constexpr Layout kLayouts[] = {Layout::contiguous, Layout::padded_rows, Layout::transposed01,
                               Layout::permuted12, Layout::permuted23};
const RunOptions kOneLevel = {{1, 2, 3, 4, 5, 6, 7, 8}, false, true};
const RunOptions kFewThreads = {{1, 3}, false, true};

TEST(copy, converts_between_all_plain_types_in_any_layout) {
    for (const ggml_type from : kPlain) {
        for (const ggml_type to : kPlain) {
            for (const Layout layout : {Layout::contiguous, Layout::transposed01}) {
                SCOPED_TRACE(std::string(ggml_type_name(from)) + " to " + ggml_type_name(to));
                OpCheck c;
                ggml_tensor * a = c.input(from, {67, 41, 3, 2}, layout, -120, 120);
                c.check(ggml_cast(c.ctx(), a, to), kExact, kFewThreads);
            }
        }
    }
}

TEST(copy, float_conversions_are_identical_on_every_instruction_set) {
    for (const ggml_type from : kFloats) {
        for (const ggml_type to : kFloats) {
            OpCheck c;
            ggml_tensor * a = c.input(from, {1031, 37, 1, 1}, Layout::contiguous, -70000, 70000);
            for (int64_t i = 0; i < 20; ++i) {
                set_element(a, i, 1, 0, 0, std::ldexp(1.0, int(-30 + 2 * i)));
            }
            set_element(a, 3, 0, 0, 0, NAN);
            set_element(a, 900, 36, 0, 0, INFINITY);
            set_element(a, 901, 36, 0, 0, -INFINITY);
            c.check(ggml_cast(c.ctx(), a, to), kExact, {{1, 2, 8}, true, true});
        }
    }
}

TEST(copy, moves_between_any_two_layouts) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I8, GGML_TYPE_F64}) {
        for (const Layout from : kLayouts) {
            for (const Layout to : kLayouts) {
                SCOPED_TRACE(std::string(layout_name(from)) + " to " + layout_name(to));
                OpCheck c;
                ggml_tensor * a = c.input(type, {70, 67, 5, 3}, from, -100, 100);
                ggml_tensor * b = c.input(type, {70, 67, 5, 3}, to, -100, 100);
                c.check(ggml_cpy(c.ctx(), a, b), kExact, kFewThreads);
            }
        }
    }
}

TEST(copy, shapes_may_differ_when_element_counts_are_equal) {
    const Shape shapes[] = {{60, 7, 4, 3},   {7, 60, 3, 4},  {5040, 1, 1, 1},
                            {1, 5040, 1, 1}, {42, 10, 6, 2}, {7, 8, 9, 10}};
    for (const Shape & from : shapes) {
        for (const Shape & to : shapes) {
            for (const Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::permuted12}) {
                OpCheck c;
                ggml_tensor * a = c.input(GGML_TYPE_F32, from, layout);
                ggml_tensor * b = c.input(GGML_TYPE_F32, to, Layout::padded_rows);
                c.check(ggml_cpy(c.ctx(), a, b), kExact, kFewThreads);
                c.check(ggml_cpy(c.ctx(), b, a), kExact, kFewThreads);
            }
        }
    }
}

TEST(copy, gives_the_same_bytes_for_one_to_eight_threads) {
    for (const Layout layout : kLayouts) {
        OpCheck c;
        ggml_tensor * a = c.input(GGML_TYPE_F32, {257, 131, 5, 1}, layout);
        c.check(ggml_cont(c.ctx(), a), kExact, kOneLevel);
        c.check(ggml_cast(c.ctx(), a, GGML_TYPE_F16), kExact, kOneLevel);
    }
}

TEST(copy, handles_more_rows_than_16_bits_count) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {3, 70001, 1, 1}, Layout::padded_rows);
    c.check(ggml_cont(c.ctx(), a), kExact, kFewThreads);
    c.check(ggml_cont(c.ctx(), ggml_transpose(c.ctx(), a)), kExact, kFewThreads);
    ggml_tensor * b = c.input(GGML_TYPE_I32, {1, 1, 66000, 2}, Layout::permuted23, -9, 9);
    c.check(ggml_cast(c.ctx(), b, GGML_TYPE_F32), kExact, kFewThreads);
}

TEST(copy, quantizes_from_floats_in_any_layout) {
    for (const ggml_type type : kQuantized) {
        for (const ggml_type from : kFloats) {
            for (const Layout layout : {Layout::contiguous, Layout::transposed01, Layout::permuted12}) {
                OpCheck c;
                ggml_tensor * a = c.input(from, {1280, 3, 5, 1}, layout);
                c.check(ggml_cast(c.ctx(), a, type), kExact, kFewThreads);
            }
        }
    }
}

TEST(copy, dequantizes_into_floats_in_any_layout) {
    for (const ggml_type type : kQuantized) {
        for (const ggml_type to : kFloats) {
            for (const Layout layout : {Layout::contiguous, Layout::transposed01, Layout::padded_rows}) {
                OpCheck c;
                ggml_tensor * a = c.input(type, {1280, 7, 2, 1});
                ggml_tensor * b = c.input(to, {1280, 7, 2, 1}, layout);
                c.check(ggml_cpy(c.ctx(), a, b), kExact, kFewThreads);
            }
        }
    }
}

TEST(copy, quantized_data_may_change_its_shape) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_Q8_0, {96, 10, 4, 1});
    ggml_tensor * b = c.input(GGML_TYPE_F32, {35 + 5, 96, 1, 1}, Layout::padded_rows);
    c.check(ggml_cpy(c.ctx(), a, b), kExact, kFewThreads);
    c.check(ggml_cpy(c.ctx(), b, a), kExact, kFewThreads);
    ggml_tensor * q = c.input(GGML_TYPE_Q8_0, {64, 60, 1, 1});
    c.check(ggml_cpy(c.ctx(), a, q), kExact, kFewThreads);
    ggml_tensor * permuted = ggml_permute(c.ctx(), a, 0, 2, 1, 3);
    c.check(ggml_cont(c.ctx(), permuted), kExact, kFewThreads);
    c.check(ggml_cast(c.ctx(), permuted, GGML_TYPE_Q4_1), kExact, kFewThreads);
    c.check(ggml_cast(c.ctx(), permuted, GGML_TYPE_BF16), kExact, kFewThreads);
}

TEST(copy, requantizes_between_block_sizes) {
    OpCheck c;
    c.check(ggml_cast(c.ctx(), c.input(GGML_TYPE_Q6_K, {768, 9, 1, 1}), GGML_TYPE_Q4_0), kExact, kFewThreads);
    c.check(ggml_cast(c.ctx(), c.input(GGML_TYPE_Q5_1, {2048, 3, 1, 1}), GGML_TYPE_Q4_K), kExact,
            kFewThreads);
}

TEST(copy, conversions_have_the_values_of_the_specification) {
    OpCheck c;
    const float inf = std::numeric_limits<float>::infinity();
    ggml_tensor * a = c.values({1.9f, -1.9f, 3e9f, -3e9f, NAN, 0.5f, 70000.0f, inf}, {8, 1, 1, 1});
    const auto run = [&](ggml_tensor * t) { return c.compute(t, true); };
    EXPECT_EQ(run(ggml_cast(c.ctx(), a, GGML_TYPE_I32)),
              (std::vector<double>{1, -1, 2147483647.0, -2147483648.0, 0, 0, 70000, 2147483647.0}));
    EXPECT_EQ(run(ggml_cast(c.ctx(), a, GGML_TYPE_I8)),
              (std::vector<double>{1, -1, 127, -128, 0, 0, 127, 127}));
    const std::vector<double> half = run(ggml_cast(c.ctx(), a, GGML_TYPE_F16));
    EXPECT_EQ(half[0], 1.900390625);
    EXPECT_TRUE(std::isnan(half[4]));
    EXPECT_EQ(half[6], double(inf));
    const std::vector<double> brain = run(ggml_cast(c.ctx(), a, GGML_TYPE_BF16));
    EXPECT_EQ(brain[0], 1.8984375);
    EXPECT_EQ(brain[6], 70144.0);

    ggml_tensor * wide = c.indices({(int64_t(1) << 40) + 1, -(int64_t(1) << 40), 77}, GGML_TYPE_I64);
    EXPECT_EQ(run(ggml_cast(c.ctx(), wide, GGML_TYPE_I32)),
              (std::vector<double>{2147483647.0, -2147483648.0, 77}));
    EXPECT_EQ(run(ggml_cast(c.ctx(), wide, GGML_TYPE_F64)), (std::vector<double>{0x1p40 + 1, -0x1p40, 77}));
}

TEST(copy, transposition_has_the_order_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6}, {3, 2, 1, 1});
    ggml_tensor * result = ggml_cont(c.ctx(), ggml_transpose(c.ctx(), a));
    EXPECT_EQ(c.compute(result, true), (std::vector<double>{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(c.compute(result, false), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(copy, plain_moves_keep_every_bit_of_nan) {
    OpCheck c;
    ggml_tensor * a = ggml_new_tensor_2d(c.ctx(), GGML_TYPE_F32, 40, 30);
    auto * bits = static_cast<uint32_t *>(a->data);
    for (uint32_t i = 0; i < 1200; ++i) bits[i] = 0x7f800001u + i * 7; // signalling ones among them
    ggml_tensor * there = ggml_cont(c.ctx(), ggml_transpose(c.ctx(), a));
    ggml_tensor * back = ggml_cont(c.ctx(), ggml_transpose(c.ctx(), there));
    c.compute(back, false, 3);
    EXPECT_EQ(std::memcmp(back->data, a->data, ggml_nbytes(a)), 0);
}

TEST(copy, touches_nothing_between_the_rows_of_a_view) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {65, 33, 1, 1}, Layout::transposed01);
    ggml_tensor * owner = c.input(GGML_TYPE_F16, {80, 33, 1, 1}, Layout::contiguous, 5, 6);
    const std::vector<double> before = read_elements(owner);
    ggml_tensor * view = ggml_view_2d(c.ctx(), owner, 65, 33, owner->nb[1], 4 * sizeof(uint16_t));
    c.compute(ggml_cpy(c.ctx(), a, view), false, 4);
    const std::vector<double> after = read_elements(owner);
    for (size_t i = 0; i < after.size(); ++i) {
        const size_t column = i % 80;
        if (column < 4 || column >= 69) {
            EXPECT_EQ(after[i], before[i]) << i;
        }
    }
}

TEST(copy, in_place_duplicate_leaves_the_data_as_it_is) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {33, 7, 2, 1}, Layout::transposed01);
    const std::vector<double> before = read_elements(a);
    EXPECT_EQ(c.compute(ggml_dup_inplace(c.ctx(), a), false, 2), before);
    EXPECT_EQ(c.compute(ggml_cpy(c.ctx(), a, a), false, 2), before);
}

TEST(copy, empty_tensors_are_fine) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {5, 0, 3, 1});
    EXPECT_TRUE(c.compute(ggml_cont(c.ctx(), a), false).empty());
    EXPECT_TRUE(c.compute(ggml_cast(c.ctx(), a, GGML_TYPE_F16), true).empty());
}

TEST(copy, refuses_what_it_cannot_convert) {
    OpCheck c;
    const auto supported = [](const ggml_tensor * t) { return cpu::find_kernels(t->op)->supports(t); };
    ggml_tensor * q = c.input(GGML_TYPE_Q4_K, {256, 2, 1, 1});
    EXPECT_TRUE(supported(ggml_cast(c.ctx(), q, GGML_TYPE_F16)));
    EXPECT_FALSE(supported(ggml_cast(c.ctx(), q, GGML_TYPE_I32)));
    EXPECT_TRUE(supported(ggml_cast(c.ctx(), q, GGML_TYPE_Q8_0)));
    ggml_tensor * other_shape = c.input(GGML_TYPE_Q8_0, {512, 1, 1, 1});
    EXPECT_FALSE(supported(ggml_cpy(c.ctx(), q, other_shape)));
    // A type that is only known by name can be moved, not converted.
    ggml_tensor * named = ggml_new_tensor_2d(c.ctx(), GGML_TYPE_IQ4_NL, 64, 3);
    EXPECT_TRUE(supported(ggml_dup(c.ctx(), named)));
    EXPECT_FALSE(supported(ggml_cast(c.ctx(), named, GGML_TYPE_F32)));
    ggml_tensor * f = c.input(GGML_TYPE_F32, {64, 3, 1, 1});
    EXPECT_FALSE(supported(ggml_cpy(c.ctx(), f, named)));
}

} // namespace
} // namespace ggml::test
