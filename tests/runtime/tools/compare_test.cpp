#include "runtime/tools/compare.h"

#include "ggml-cpp.h"
#include "runtime/tensor/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ggml::tools {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");
constexpr ggml_ext_tolerance kExact = {0, 0, 0};
constexpr ggml_ext_tolerance kLoose = {1e-3, 1e-2, 1e-3};

struct Layout {
    explicit Layout(ggml_type type, int64_t ne0, int64_t ne1 = 1)
        : ctx(ggml_init({4 * ggml_tensor_overhead(), nullptr, true})),
          tensor(ggml_new_tensor_2d(ctx.get(), type, ne0, ne1)) {}
    ggml_context_ptr ctx;
    ggml_tensor * tensor;
};

ggml_ext_difference compare(const std::vector<float> & a, const std::vector<float> & b,
                            const ggml_ext_tolerance & tolerance = kExact) {
    return difference(Layout(GGML_TYPE_F32, int64_t(a.size())).tensor, a.data(), b.data(), tolerance);
}

TEST(compare, equal_values_have_no_difference) {
    const ggml_ext_difference d = compare({1, -2, 0}, {1, -2, 0});
    EXPECT_EQ(d.count, 3);
    EXPECT_EQ(d.first_bad, -1);
    EXPECT_EQ(d.max_abs + d.max_rel + d.nmse, 0);
    EXPECT_TRUE(is_good(d, kExact));
}

TEST(compare, errors_are_absolute_relative_and_normalized) {
    const ggml_ext_difference d = compare({1, 2.5f, 4}, {1, 2, 4});
    EXPECT_EQ(d.max_abs, 0.5);
    EXPECT_EQ(d.max_rel, 0.25);
    EXPECT_DOUBLE_EQ(d.nmse, 0.25 / 21);
    EXPECT_EQ(d.first_bad, 1);
    EXPECT_EQ(d.bad_value, 2.5);
    EXPECT_EQ(d.bad_reference, 2);
    EXPECT_EQ(describe(d), "element 1 is 2.5, should be 2");
}

TEST(compare, an_element_may_use_both_tolerances) {
    EXPECT_EQ(compare({100.9f}, {100}, {0.0, 0.01, 1}).first_bad, -1);
    EXPECT_EQ(compare({101.1f}, {100}, {0.0, 0.01, 1}).first_bad, 0);
    EXPECT_EQ(compare({101.1f}, {100}, {0.2, 0.01, 1}).first_bad, -1);
}

TEST(compare, a_result_of_good_elements_can_exceed_the_nmse) {
    const ggml_ext_tolerance tolerance = {1, 0, 1e-6};
    const ggml_ext_difference d = compare({1.5f}, {1}, tolerance);
    EXPECT_EQ(d.first_bad, -1);
    EXPECT_FALSE(is_good(d, tolerance));
    EXPECT_EQ(describe(d), "nmse is 0.25");
}

TEST(compare, an_error_where_all_references_are_zero_has_an_infinite_nmse) {
    const ggml_ext_difference d = compare({1e-9f}, {0}, kLoose);
    EXPECT_TRUE(std::isinf(d.nmse));
    EXPECT_EQ(d.max_rel, 0);
    EXPECT_FALSE(is_good(d, kLoose));
}

TEST(compare, the_same_special_values_are_equal) {
    EXPECT_TRUE(is_good(compare({kNan, kInf, -kInf}, {kNan, kInf, -kInf}), kExact));
}

TEST(compare, special_values_are_good_under_no_tolerance_when_the_reference_has_others) {
    const ggml_ext_tolerance any = {1e30, 1e30, 1e30};
    const float pairs[][2] = {{kNan, 1}, {1, kNan}, {kInf, 1}, {1, kInf}, {kInf, -kInf}, {kNan, kInf}};
    for (const auto & pair : pairs) {
        EXPECT_EQ(compare({pair[0]}, {pair[1]}, any).first_bad, 0) << pair[0] << " for " << pair[1];
    }
}

TEST(compare, special_values_of_the_result_alone_are_counted) {
    const ggml_ext_difference d = compare({kNan, kInf, kNan, 2, 1}, {1, 1, kNan, kInf, 1});
    EXPECT_EQ(d.n_nan, 1);
    EXPECT_EQ(d.n_inf, 1);
    EXPECT_EQ(d.max_abs, 0) << "only finite pairs have a size of error";
}

TEST(compare, every_readable_type_is_compared_by_value) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = ggml_type(i);
        const TypeInfo & info = type_info(type);
        if (!type_is_readable(type) || info.from_float == nullptr) continue;
        const int64_t n = 256 * 2;
        std::vector<float> ones(size_t(n), 1), others = ones;
        others[300] = 0;
        Layout layout(type, 256, 2);
        std::vector<char> a(ggml_nbytes(layout.tensor)), b(a.size());
        info.from_float(ones.data(), b.data(), n);
        info.from_float(others.data(), a.data(), n);
        EXPECT_TRUE(is_good(difference(layout.tensor, b.data(), b.data(), kExact), kExact)) << info.name;
        const ggml_ext_difference d = difference(layout.tensor, a.data(), b.data(), {0.3, 0, 1});
        EXPECT_EQ(d.count, n) << info.name;
        EXPECT_EQ(d.first_bad, 300) << info.name;
    }
}

TEST(compare, large_integers_keep_their_last_digit) {
    const int64_t a = (int64_t(1) << 62) + 1, b = int64_t(1) << 62;
    const ggml_ext_difference d = difference(Layout(GGML_TYPE_I64, 1).tensor, &a, &b, kExact);
    EXPECT_EQ(d.max_abs, 1);
    EXPECT_EQ(d.first_bad, 0);
    const int64_t most = INT64_MAX, least = INT64_MIN;
    EXPECT_EQ(difference(Layout(GGML_TYPE_I64, 1).tensor, &most, &least, kExact).max_abs, 0x1p64);
}

TEST(compare, strides_are_followed_and_gaps_ignored) {
    Layout layout(GGML_TYPE_F32, 3, 2);
    ggml_tensor * columns = ggml_transpose(layout.ctx.get(), layout.tensor);
    const std::vector<float> a = {0, 1, 2, 3, 4, 5};
    std::vector<float> b = a;
    b[1] = 9; // [1, 0] of the original, [0, 1] of the transposed
    EXPECT_EQ(difference(columns, a.data(), b.data(), kExact).first_bad, 2);
    ggml_tensor * part = ggml_view_2d(layout.ctx.get(), layout.tensor, 1, 2, layout.tensor->nb[1], 0);
    const ggml_ext_difference d = difference(part, a.data(), b.data(), kExact);
    EXPECT_EQ(d.count, 2);
    EXPECT_EQ(d.first_bad, -1);
}

TEST(compare, nothing_is_equal_to_nothing) {
    Layout layout(GGML_TYPE_F32, 0, 4);
    const ggml_ext_difference d = difference(layout.tensor, nullptr, nullptr, kExact);
    EXPECT_EQ(d.count, 0);
    EXPECT_TRUE(is_good(d, kExact));
}

} // namespace
} // namespace ggml::tools
