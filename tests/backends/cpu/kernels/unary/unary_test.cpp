#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

struct Case {
    const char * name;
    std::function<ggml_tensor *(ggml_context *, ggml_tensor *)> build;
    Tolerance tolerance; // F32
    float lo = -4.0f, hi = 4.0f;
};

ggml_tensor * apply(ggml_context * ctx, ggml_tensor * x, ggml_unary_op op) { return ggml_unary(ctx, x, op); }

Case unary(const char * name, ggml_unary_op op, Tolerance tolerance) {
    return {name, [op](ggml_context * ctx, ggml_tensor * x) { return apply(ctx, x, op); }, tolerance};
}

// The gelu family loses relative accuracy where the result is a tiny negative number; its error is relative
// to |x|.
constexpr Tolerance kGeluTolerance{4 * 0x1p-22, 0, 0};

const std::vector<Case> & cases() {
    static const std::vector<Case> all = {
        unary("abs", GGML_UNARY_OP_ABS, kExact),
        unary("sgn", GGML_UNARY_OP_SGN, kExact),
        unary("neg", GGML_UNARY_OP_NEG, kExact),
        unary("step", GGML_UNARY_OP_STEP, kExact),
        unary("tanh", GGML_UNARY_OP_TANH, {0, 0, 3}),
        unary("elu", GGML_UNARY_OP_ELU, {0, 0, 2}),
        unary("relu", GGML_UNARY_OP_RELU, kExact),
        unary("sigmoid", GGML_UNARY_OP_SIGMOID, {0, 0, 3}),
        unary("gelu", GGML_UNARY_OP_GELU, kGeluTolerance),
        unary("gelu_quick", GGML_UNARY_OP_GELU_QUICK, kGeluTolerance),
        unary("gelu_erf", GGML_UNARY_OP_GELU_ERF, kGeluTolerance),
        unary("silu", GGML_UNARY_OP_SILU, {0, 0, 4}),
        unary("hardswish", GGML_UNARY_OP_HARDSWISH, kExact),
        unary("hardsigmoid", GGML_UNARY_OP_HARDSIGMOID, kExact),
        unary("exp", GGML_UNARY_OP_EXP, {0, 0, 2}),
        unary("expm1", GGML_UNARY_OP_EXPM1, {0, 0, 2}),
        unary("softplus", GGML_UNARY_OP_SOFTPLUS, {0, 0, 4}),
        unary("floor", GGML_UNARY_OP_FLOOR, kExact),
        unary("ceil", GGML_UNARY_OP_CEIL, kExact),
        unary("round", GGML_UNARY_OP_ROUND, kExact),
        unary("trunc", GGML_UNARY_OP_TRUNC, kExact),
        {"xielu",
         [](ggml_context * c, ggml_tensor * x) { return ggml_xielu(c, x, 0.8f, 0.6f, 0.5f, -1e-6f); },
         {2e-6, 0, 0}},
        {"sqr", ggml_sqr, kExact},
        {"sqrt", ggml_sqrt, kExact, 0.0f, 9.0f},
        {"log", ggml_log, {0, 0, 1}, 0.0f, 9.0f},
        {"sin", ggml_sin, {0, 0, 2}},
        {"cos", ggml_cos, {0, 0, 2}},
        {"leaky_relu", [](ggml_context * c, ggml_tensor * x) { return ggml_leaky_relu(c, x, 0.1f, false); },
         kExact},
        {"clamp", [](ggml_context * c, ggml_tensor * x) { return ggml_clamp(c, x, -1.5f, 2.25f); }, kExact},
        {"scale", [](ggml_context * c, ggml_tensor * x) { return ggml_scale(c, x, 0.3f); }, kExact},
        {"scale_bias", [](ggml_context * c, ggml_tensor * x) { return ggml_scale_bias(c, x, 0.3f, 0.7f); },
         kExact},
    };
    return all;
}

// Half-precision results may round to the neighbour when the float before it sits on the edge.
Tolerance tolerance_of(const Case & c, ggml_type type) {
    if (type == GGML_TYPE_F32 || (c.tolerance.abs == 0 && c.tolerance.ulp == 0)) return c.tolerance;
    return {6e-8, type == GGML_TYPE_F16 ? 0x1p-10 : 0x1p-7, 0};
}

ggml_tensor * f32(OpCheck & check, std::vector<float> values) {
    const auto n = int64_t(values.size());
    return check.values(values, {n, 1, 1, 1});
}

TEST(unary, every_function_equals_its_reference_on_a_prime_sized_row) {
    for (const Case & c : cases()) {
        SCOPED_TRACE(c.name);
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {1009, 53, 1, 1}, Layout::contiguous, c.lo, c.hi);
        check.check(c.build(check.ctx(), x), c.tolerance, {{1, 2, 3, 4, 5, 6, 7, 8}});
    }
}

TEST(unary, every_function_takes_half_and_bfloat16) {
    for (const Case & c : cases()) {
        for (ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
            SCOPED_TRACE(std::string(c.name) + " " + ggml_type_name(type));
            OpCheck check;
            ggml_tensor * x = check.input(type, {67, 5, 1, 1}, Layout::contiguous, c.lo, c.hi);
            check.check(c.build(check.ctx(), x), tolerance_of(c, type), {{1, 2}});
        }
    }
}

// ggml_unary demands contiguous rows; SQR and friends take any strides.
TEST(unary, strided_and_permuted_inputs_give_the_same_values) {
    for (Layout layout : {Layout::padded_rows, Layout::permuted12, Layout::permuted23}) {
        SCOPED_TRACE(layout_name(layout));
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {37, 5, 3, 2}, layout, -4, 4);
        check.check(ggml_silu(check.ctx(), x), {0, 0, 4});
        ggml_tensor * h = check.input(GGML_TYPE_F16, {37, 5, 3, 2}, layout, -4, 4);
        check.check(ggml_neg(check.ctx(), h), kExact);
    }
    OpCheck check;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {37, 5, 3, 2}, Layout::transposed01, -4, 4);
    check.check(ggml_sqr(check.ctx(), x), kExact);
}

TEST(unary, shapes_with_one_element_or_many_rows_or_long_rows_work) {
    const Shape shapes[] = {
        {1, 1, 1, 1}, {1, 70001, 1, 1}, {3, 257, 101, 1}, {100003, 1, 1, 1}, {1, 1, 1, 31}};
    for (const Shape & ne : shapes) {
        OpCheck check;
        check.check(ggml_relu(check.ctx(), check.input(GGML_TYPE_F32, ne)), kExact, {{1, 2, 8}});
        check.check(ggml_exp(check.ctx(), check.input(GGML_TYPE_F32, ne, Layout::padded_rows)), {0, 0, 2},
                    {{1, 3}});
    }
}

TEST(unary, empty_tensors_run) {
    OpCheck check;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {5, 0, 2, 1});
    EXPECT_TRUE(check.compute(ggml_silu(check.ctx(), x), false, 4).empty());
}

TEST(unary, in_place_variants_overwrite_their_input_correctly) {
    OpCheck check;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {4099, 7, 1, 1}, Layout::contiguous, -4, 4);
    check.check(ggml_gelu_inplace(check.ctx(), x), kGeluTolerance);
    ggml_tensor * y = check.input(GGML_TYPE_F32, {4099, 7, 1, 1}, Layout::contiguous, -4, 4);
    check.check(ggml_scale_bias_inplace(check.ctx(), y, 1.1f, -0.1f), kExact);
    ggml_tensor * z = check.input(GGML_TYPE_F16, {67, 7, 1, 1}, Layout::contiguous, -4, 4);
    check.check(ggml_leaky_relu(check.ctx(), z, 0.2f, true), kExact);
}

TEST(unary, infinities_and_nan_take_the_same_branch_as_the_reference) {
    const std::vector<float> special = {NAN,     HUGE_VALF,  -HUGE_VALF, 0.0f,   -0.0f,  1e-45f,
                                        -1e-45f, 3e38f,      -3e38f,     1e-38f, 88.7f,  89.0f,
                                        -87.5f,  -103.5f,    -104.5f,    20.5f,  0.5f,   -0.5f,
                                        2.5f,    8388607.5f, -8388609.f, 1e10f,  -1e10f, -3.0f};
    for (const Case & c : cases()) {
        SCOPED_TRACE(c.name);
        OpCheck check;
        Tolerance tolerance = c.tolerance;
        // Results near 3e38 * 2^-22 and products with a subnormal exponential need room; the branches are the
        // point.
        tolerance = tolerance.abs > 0 ? Tolerance{1e-6, 1e-6, 4} : Tolerance{0, 0, tolerance.ulp};
        if (tolerance.ulp > 0 && tolerance.abs == 0) tolerance.abs = 1e-36;
        check.check(c.build(check.ctx(), f32(check, special)), tolerance, {{1}});
    }
}

TEST(unary, hand_computed_values_check_the_reference_itself) {
    OpCheck check;
    ggml_context * ctx = check.ctx();
    const auto expect = [&](ggml_tensor * node, const std::vector<double> & want, double abs = 1e-7) {
        expect_close(check.compute(node, true), want, {abs, 0, 0}, ggml_op_desc(node));
    };
    const auto x = [&] { return f32(check, {-2.0f, -0.5f, 0.0f, 1.0f}); };
    expect(ggml_silu(ctx, x()), {-0.2384058440442351, -0.1887703343990727, 0, 0.7310585786300049});
    expect(ggml_gelu(ctx, x()), {-0.0454023059, -0.1542859902, 0, 0.8411919906}, 1e-7);
    expect(ggml_gelu_erf(ctx, x()), {-0.0455002639, -0.1542687694, 0, 0.8413447460}, 1e-7);
    expect(ggml_gelu_quick(ctx, x()), {-0.0643413737, -0.1496115634, 0, 0.8457957659}, 1e-7);
    expect(ggml_tanh(ctx, x()), {-0.9640275800758169, -0.46211715726000973, 0, 0.7615941559557649});
    expect(ggml_sigmoid(ctx, x()), {0.11920292202211755, 0.3775406687981454, 0.5, 0.7310585786300049});
    expect(ggml_elu(ctx, x()), {-0.8646647167633873, -0.3934693402873666, 0, 1});
    expect(ggml_softplus(ctx, x()),
           {0.1269280110429726, 0.4740769841801067, 0.6931471805599453, 1.3132616875182228});
    expect(ggml_hardswish(ctx, x()), {-1.0 / 3, -0.5 * 2.5 / 6, 0, 4.0 / 6});
    expect(ggml_hardsigmoid(ctx, f32(check, {-4, -3, 0, 3, 4})), {0, 0, 0.5, 1, 1});
    expect(ggml_round(ctx, f32(check, {-2.5f, -0.5f, 0.5f, 1.5f, 2.5f, 2.4f})), {-3, -1, 1, 2, 3, 2});
    expect(ggml_sgn(ctx, f32(check, {-7, 0, 3})), {-1, 0, 1});
    expect(ggml_step(ctx, f32(check, {-7, 0, 3})), {0, 0, 1});
    expect(ggml_clamp(ctx, f32(check, {-7, 0.5f, 3}), -1, 2), {-1, 0.5, 2});
    expect(ggml_scale_bias(ctx, f32(check, {-2, 0, 3}), 2, 1), {-3, 1, 7});
    expect(ggml_leaky_relu(ctx, f32(check, {-2, 0, 3}), 0.25f, false), {-0.5, 0, 3});
    expect(ggml_log(ctx, f32(check, {1, 2.718281828459045f})), {0, 1});
    expect(ggml_sin(ctx, f32(check, {0, 1.5707963f})), {0, 1});
    expect(ggml_cos(ctx, f32(check, {0, 3.1415927f})), {1, -1});
    expect(ggml_expm1(ctx, f32(check, {1e-6f, 1})), {1.0000005e-6, 1.718281828459045});
    // softplus(0.5) = 0.974077 for both alphas, beta 0.5: alpha_n = 1.474077, alpha_p = 0.974077.
    expect(ggml_xielu(ctx, f32(check, {2, -1}), 0.5f, 0.5f, 0.5f, -1e-6f),
           {0.97407698 * 4 + 1, (std::expm1(-1.0) + 1) * 1.47407698 - 0.5}, 1e-6);
}

TEST(unary, scale_rounds_the_product_before_adding_the_bias) {
    // x * s = 1 + 2^-23 + 2^-46 rounds to 1 + 2^-23; a fused operation would leave 2^-46 after subtracting
    // it.
    OpCheck check;
    const float x = 1.0f + 0x1p-23f, s = 1.0f - 0x1p-24f;
    ggml_tensor * node = ggml_scale_bias(check.ctx(), f32(check, std::vector<float>(19, x)), s, -1.0f);
    const volatile float product = x * s;
    check.check(node, kExact);
    for (double v : check.compute(node, false)) EXPECT_EQ(v, double(product - 1.0f));
    EXPECT_NE(double(product - 1.0f), double(x) * double(s) - 1.0);
}

} // namespace
} // namespace ggml::test
