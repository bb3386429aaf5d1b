#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

constexpr ggml_glu_op kOps[] = {GGML_GLU_OP_REGLU, GGML_GLU_OP_GEGLU, GGML_GLU_OP_SWIGLU,
                                GGML_GLU_OP_GEGLU_ERF, GGML_GLU_OP_GEGLU_QUICK};

// Activation error (4 ulp, or 2^-22 |x| for the gelu family) times |g| <= 3.
Tolerance tolerance_of(ggml_glu_op op, ggml_type type) {
    if (op == GGML_GLU_OP_REGLU) return kExact;
    if (type != GGML_TYPE_F32) return {3e-6, type == GGML_TYPE_F16 ? 0x1p-10 : 0x1p-7, 0};
    return op == GGML_GLU_OP_SWIGLU ? Tolerance{0, 0, 5} : Tolerance{4 * 3 * 0x1p-22, 0, 0};
}

TEST(glu, packed_and_swapped_halves_match_the_reference) {
    for (ggml_glu_op op : kOps) {
        for (bool swapped : {false, true}) {
            OpCheck check;
            ggml_tensor * a = check.input(GGML_TYPE_F32, {2 * 1031, 5, 2, 1}, Layout::contiguous, -3, 3);
            check.check(ggml_glu(check.ctx(), a, op, swapped), tolerance_of(op, GGML_TYPE_F32));
        }
    }
}

TEST(glu, split_operands_match_the_reference) {
    for (ggml_glu_op op : kOps) {
        OpCheck check;
        ggml_tensor * a = check.input(GGML_TYPE_F32, {67, 5, 3, 2}, Layout::contiguous, -3, 3);
        ggml_tensor * b = check.input(GGML_TYPE_F32, {67, 5, 3, 2}, Layout::padded_rows, -3, 3);
        check.check(ggml_glu_split(check.ctx(), a, b, op), tolerance_of(op, GGML_TYPE_F32));
    }
}

TEST(glu, half_types_match_the_reference) {
    for (ggml_glu_op op : kOps) {
        for (ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
            OpCheck check;
            ggml_tensor * a = check.input(type, {2 * 67, 5, 1, 1}, Layout::padded_rows, -3, 3);
            check.check(ggml_glu(check.ctx(), a, op, false), tolerance_of(op, type), {{1, 2}});
        }
    }
}

TEST(glu, swiglu_oai_matches_the_reference_inside_and_beyond_the_limit) {
    OpCheck check;
    ggml_tensor * a = check.input(GGML_TYPE_F32, {517, 151, 1, 1}, Layout::contiguous, -12, 12);
    ggml_tensor * b = check.input(GGML_TYPE_F32, {517, 151, 1, 1}, Layout::contiguous, -12, 12);
    // The exponent alpha * x is a rounded float in the kernel: relative error |alpha x| 2^-24 on top of 4
    // ulp.
    check.check(ggml_swiglu_oai(check.ctx(), a, b, 1.702f, 7.0f), {0, 3e-6, 0}, {{1, 2, 3, 4, 5, 6, 7, 8}});
}

TEST(glu, single_elements_many_rows_and_empty_tensors_work) {
    OpCheck check;
    check.check(ggml_swiglu(check.ctx(), check.input(GGML_TYPE_F32, {2, 1, 1, 1})), {0, 0, 5});
    check.check(ggml_reglu(check.ctx(), check.input(GGML_TYPE_F32, {2, 70001, 1, 1})), kExact, {{1, 8}});
    EXPECT_TRUE(
        check.compute(ggml_swiglu(check.ctx(), check.input(GGML_TYPE_F32, {4, 0, 1, 1})), false).empty());
}

TEST(glu, nan_and_infinities_match_the_reference) {
    const std::vector<float> x = {NAN, 1, HUGE_VALF, -HUGE_VALF, -1, 1, 0, -200, 3e38f};
    const std::vector<float> g = {1, NAN, 2, 2, HUGE_VALF, -HUGE_VALF, HUGE_VALF, 1, 3e38f};
    for (ggml_glu_op op : kOps) {
        OpCheck check;
        ggml_tensor * y =
            ggml_glu_split(check.ctx(), check.values(x, {9, 1, 1, 1}), check.values(g, {9, 1, 1, 1}), op);
        check.check(y, {1e-6, 1e-6, 0}, {{1}});
    }
    OpCheck check;
    ggml_tensor * y =
        ggml_swiglu_oai(check.ctx(), check.values(x, {9, 1, 1, 1}), check.values(g, {9, 1, 1, 1}), 1, 7);
    check.check(y, {1e-6, 1e-6, 0}, {{1}});
}

TEST(glu, hand_computed_values_check_the_reference_itself) {
    OpCheck check;
    ggml_context * ctx = check.ctx();
    const auto packed = [&] {
        return check.values({1, -2, 3, 0.5f}, {4, 1, 1, 1});
    }; // x = (1, -2), g = (3, 0.5)
    const auto expect = [&](ggml_tensor * y, std::vector<double> want) {
        expect_close(check.compute(y, true), want, {3e-7, 0, 0}, ggml_op_desc(y));
    };
    expect(ggml_reglu(ctx, packed()), {3, 0});
    expect(ggml_reglu_swapped(ctx, packed()), {3, -1}); // x = (3, 0.5), g = (1, -2)
    expect(ggml_swiglu(ctx, packed()), {2.1931757358900147, -0.11920292202211755});
    expect(ggml_geglu(ctx, packed()), {2.52357597182483, -0.0227011529561125});
    expect(ggml_geglu_erf(ctx, packed()), {2.52403423820563, -0.0227501319481792});
    expect(ggml_geglu_quick(ctx, packed()), {2.53738729780250, -0.0321706884278959});
    // x limited to 2 and -2, g to 2 and 0.5: 2 sigmoid(2) * 3 and -2 sigmoid(-2) * 1.5
    ggml_tensor * x = check.values({5, -2}, {2, 1, 1, 1});
    ggml_tensor * g = check.values({3, 0.5f}, {2, 1, 1, 1});
    expect(ggml_swiglu_oai(ctx, x, g, 1.0f, 2.0f), {5.284782467867294, -0.35760876606635265});
}

} // namespace
} // namespace ggml::test
