#include "tests/runtime/ops/op_graph.h"

#include <cmath>

namespace ggml::test {
namespace {

using Constructor = ggml_tensor * (*)(ggml_context *, ggml_tensor *);

struct UnaryCase {
    Constructor make;
    Constructor make_inplace; // null where there is none
    ggml_op op;
    ggml_unary_op function; // of GGML_OP_UNARY
};

#define PAIR(name) ggml_##name, ggml_##name##_inplace
const UnaryCase kCases[] = {
    {PAIR(sqr), GGML_OP_SQR, {}},
    {PAIR(sqrt), GGML_OP_SQRT, {}},
    {PAIR(log), GGML_OP_LOG, {}},
    {PAIR(sin), GGML_OP_SIN, {}},
    {PAIR(cos), GGML_OP_COS, {}},
    {PAIR(abs), GGML_OP_UNARY, GGML_UNARY_OP_ABS},
    {PAIR(sgn), GGML_OP_UNARY, GGML_UNARY_OP_SGN},
    {PAIR(neg), GGML_OP_UNARY, GGML_UNARY_OP_NEG},
    {PAIR(step), GGML_OP_UNARY, GGML_UNARY_OP_STEP},
    {PAIR(tanh), GGML_OP_UNARY, GGML_UNARY_OP_TANH},
    {PAIR(elu), GGML_OP_UNARY, GGML_UNARY_OP_ELU},
    {PAIR(relu), GGML_OP_UNARY, GGML_UNARY_OP_RELU},
    {PAIR(sigmoid), GGML_OP_UNARY, GGML_UNARY_OP_SIGMOID},
    {PAIR(gelu), GGML_OP_UNARY, GGML_UNARY_OP_GELU},
    {PAIR(gelu_erf), GGML_OP_UNARY, GGML_UNARY_OP_GELU_ERF},
    {PAIR(gelu_quick), GGML_OP_UNARY, GGML_UNARY_OP_GELU_QUICK},
    {PAIR(silu), GGML_OP_UNARY, GGML_UNARY_OP_SILU},
    {PAIR(exp), GGML_OP_UNARY, GGML_UNARY_OP_EXP},
    {PAIR(expm1), GGML_OP_UNARY, GGML_UNARY_OP_EXPM1},
    {PAIR(softplus), GGML_OP_UNARY, GGML_UNARY_OP_SOFTPLUS},
    {PAIR(floor), GGML_OP_UNARY, GGML_UNARY_OP_FLOOR},
    {PAIR(ceil), GGML_OP_UNARY, GGML_UNARY_OP_CEIL},
    {PAIR(round), GGML_OP_UNARY, GGML_UNARY_OP_ROUND},
    {PAIR(trunc), GGML_OP_UNARY, GGML_UNARY_OP_TRUNC},
    {ggml_hardswish, nullptr, GGML_OP_UNARY, GGML_UNARY_OP_HARDSWISH},
    {ggml_hardsigmoid, nullptr, GGML_OP_UNARY, GGML_UNARY_OP_HARDSIGMOID},
};
#undef PAIR

TEST(unary, gives_a_tensor_of_the_operands_shape_and_type) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 2, 5}, GGML_TYPE_F16);
    for (const UnaryCase & c : kCases) {
        expect_node(c.make(g, a), {c.op, GGML_TYPE_F16, {4, 3, 2, 5}, {"a"}, {int32_t(c.function)}});
    }
}

TEST(unary, in_place_gives_a_view_of_the_operand) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 1});
    ggml_tensor * window = ggml_set_name(ggml_view_2d(g, a, 4, 3, a->nb[1], 8), "window");
    for (const UnaryCase & c : kCases) {
        if (c.make_inplace == nullptr) continue;
        ggml_tensor * t = c.make_inplace(g, window);
        expect_in_place(t, window);
        expect_described(t, {c.op, GGML_TYPE_F32, {4, 3, 1, 1}, {"window"}, {int32_t(c.function)}});
    }
}

TEST(unary, by_number_equals_by_name) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 1, 1});
    for (int op = 0; op < GGML_UNARY_OP_COUNT; ++op) {
        EXPECT_EQ(ggml_get_unary_op(ggml_unary(g, a, ggml_unary_op(op))), ggml_unary_op(op));
        expect_in_place(ggml_unary_inplace(g, a, ggml_unary_op(op)), a);
    }
}

TEST(unary, functions_by_number_need_contiguous_rows) {
    OpGraph g;
    ggml_tensor * a = ggml_transpose(g, g.input("a", {4, 3, 1, 1}));
    expect_stops({"ggml_unary", "f32 [3, 4, 1, 1]"}, [&] { ggml_silu(g, a); });
    expect_node(ggml_sqr(g, a), {GGML_OP_SQR, GGML_TYPE_F32, {3, 4, 1, 1}, {"a (transposed)"}});
}

TEST(unary, refuses_numbers_that_are_no_function) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 1, 1, 1});
    expect_stops({"ggml_unary"}, [&] { ggml_unary(g, a, GGML_UNARY_OP_COUNT); });
    expect_stops({"ggml_get_unary_op"}, [&] { ggml_get_unary_op(ggml_sqr(g, a)); });
}

TEST(leaky_relu, stores_its_slope) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 1, 1});
    expect_node(ggml_leaky_relu(g, a, 0.1f, false),
                {GGML_OP_LEAKY_RELU, GGML_TYPE_F32, {4, 3, 1, 1}, {"a"}, {bits(0.1f)}});
    expect_in_place(ggml_leaky_relu(g, a, 0.1f, true), a);
}

TEST(xielu, stores_its_parameters_after_the_constraining_functions) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 1, 1});
    // softplus(0) is log 2; above 20 softplus is the identity.
    const float log2 = std::log(2.0f);
    expect_node(ggml_xielu(g, a, 0.0f, 30.0f, 0.5f, 1e-6f),
                {GGML_OP_UNARY,
                 GGML_TYPE_F32,
                 {4, 3, 1, 1},
                 {"a"},
                 {GGML_UNARY_OP_XIELU, bits(0.5f + log2), bits(30.0f), bits(0.5f), bits(1e-6f)}});
}

} // namespace
} // namespace ggml::test
