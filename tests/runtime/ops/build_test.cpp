#include "tests/runtime/ops/op_graph.h"

#include "runtime/ops/build.h"

namespace ggml::test {
namespace {

const int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(extent, computes_like_an_integer_while_it_fits) {
    EXPECT_EQ(((Extent(7) + 3) * 2 - 6).value(), 14);
    EXPECT_EQ((Extent(-7) / 2).value(), -3);
    EXPECT_TRUE(Extent(2) > 1);
    EXPECT_FALSE(Extent(1) > 1);
}

TEST(extent, stays_invalid_after_an_overflow) {
    for (const Extent & e : {Extent(kMost) + 1, Extent(kMost) * 2, Extent(-kMost) - 2}) {
        EXPECT_FALSE(e.valid());
        EXPECT_FALSE((e - 1).valid());
        EXPECT_FALSE((e * 0).valid());
        EXPECT_FALSE(e == e);
        EXPECT_FALSE(e > 0);
    }
}

TEST(extent, is_invalid_after_a_division_by_no_positive_number) {
    EXPECT_FALSE((Extent(1) / 0).valid());
    EXPECT_FALSE((Extent(1) / -1).valid());
}

TEST(extent, knows_whether_it_fits_into_32_bits) {
    EXPECT_TRUE(Extent(std::numeric_limits<int32_t>::max()).fits_int32());
    EXPECT_FALSE((Extent(std::numeric_limits<int32_t>::max()) + 1).fits_int32());
    EXPECT_FALSE((Extent(kMost) + 1).fits_int32());
}

TEST(new_result, names_the_operator_and_the_impossible_shape) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 1, 1});
    expect_stops({"ggml_try", "f32 [-1, 2, 1, 1]", "f32 [4, 3, 1, 1]"}, [&] {
        new_result(g, "ggml_try", GGML_TYPE_F32, {-1, 2, 1, 1}, {a});
    });
    expect_stops({"ggml_try", "too large"}, [&] {
        new_result(g, "ggml_try", GGML_TYPE_F32, {Extent(kMost) * 2, 1, 1, 1}, {a});
    });
    expect_stops({"ggml_try", "9223372036854775807"}, [&] {
        new_result(g, "ggml_try", GGML_TYPE_F32, {kMost, 1, 1, 1}, {a});
    });
    expect_stops({"ggml_try", "q8_0 [33"}, [&] {
        new_result(g, "ggml_try", GGML_TYPE_Q8_0, {33, 1, 1, 1}, {a});
    });
    expect_stops({"ggml_try"}, [&] { new_result(g, "ggml_try", ggml_type(4), {32, 1, 1, 1}, {a}); });
}

TEST(new_result_death, a_wrong_shape_ends_the_program) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 1, 1});
    ggml_tensor * b = g.input("b", {5, 3, 1, 1}, GGML_TYPE_F16);
    EXPECT_DEATH(ggml_add(g, a, b), "ggml_add.*f32 \\[4, 3, 1, 1\\], f16 \\[5, 3, 1, 1\\]");
}

TEST(repeats_into, an_empty_dimension_repeats_only_into_nothing) {
    EXPECT_TRUE(repeats_into(3, 6));
    EXPECT_TRUE(repeats_into(3, 0));
    EXPECT_FALSE(repeats_into(4, 6));
    EXPECT_FALSE(repeats_into(0, 6));
    EXPECT_TRUE(repeats_into(0, 0));
}

} // namespace
} // namespace ggml::test
