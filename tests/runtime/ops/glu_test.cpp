#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

using Fused = ggml_tensor * (*)(ggml_context *, ggml_tensor *);
using Split = ggml_tensor * (*)(ggml_context *, ggml_tensor *, ggml_tensor *);

struct GluCase {
    Fused fused, swapped;
    Split split;
    ggml_glu_op op;
};

#define GATE(name, op)                                                                                       \
    { ggml_##name, ggml_##name##_swapped, ggml_##name##_split, op }
const GluCase kCases[] = {
    GATE(reglu, GGML_GLU_OP_REGLU),
    GATE(geglu, GGML_GLU_OP_GEGLU),
    GATE(swiglu, GGML_GLU_OP_SWIGLU),
    GATE(geglu_erf, GGML_GLU_OP_GEGLU_ERF),
    GATE(geglu_quick, GGML_GLU_OP_GEGLU_QUICK),
};
#undef GATE

TEST(glu, halves_rows_of_one_operand_and_keeps_those_of_two) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 1});
    ggml_tensor * b = g.input("b", {8, 3, 2, 1});
    for (const GluCase & c : kCases) {
        expect_node(c.fused(g, a), {GGML_OP_GLU, GGML_TYPE_F32, {4, 3, 2, 1}, {"a"}, {c.op, 0}});
        expect_node(c.swapped(g, a), {GGML_OP_GLU, GGML_TYPE_F32, {4, 3, 2, 1}, {"a"}, {c.op, 1}});
        expect_node(c.split(g, a, b), {GGML_OP_GLU, GGML_TYPE_F32, {8, 3, 2, 1}, {"a", "b"}, {c.op, 0}});
        EXPECT_EQ(ggml_get_glu_op(c.fused(g, a)), c.op);
    }
}

TEST(glu, rounds_odd_rows_down) {
    OpGraph g;
    EXPECT_EQ(ggml_swiglu(g, g.input("a", {5, 3, 1, 1}))->ne[0], 2);
}

TEST(glu, accepts_gaps_between_rows_only) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {16, 3, 2, 1});
    EXPECT_EQ(ggml_swiglu(g, ggml_view_2d(g, a, 8, 3, a->nb[1], 0))->ne[0], 4);
    expect_stops({"ggml_glu", "f32 [3, 16, 2, 1]"}, [&] { ggml_swiglu(g, ggml_transpose(g, a)); });
    expect_stops({"ggml_glu_split"}, [&] {
        ggml_swiglu_split(g, ggml_new_tensor_3d(g, GGML_TYPE_F32, 3, 16, 2), ggml_transpose(g, a));
    });
}

TEST(glu, refuses_halves_that_differ) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 1, 1});
    expect_stops({"ggml_glu_split", "f32 [8, 3, 1, 1], f32 [8, 1, 1, 1]"}, [&] {
        ggml_geglu_split(g, a, g.input("b", {8, 1, 1, 1}));
    });
    expect_stops({"ggml_glu_split"}, [&] {
        ggml_geglu_split(g, a, g.input("b", {8, 3, 1, 1}, GGML_TYPE_F16));
    });
    expect_stops({"ggml_glu"}, [&] { ggml_glu(g, a, GGML_GLU_OP_COUNT, false); });
    expect_stops({"ggml_get_glu_op"}, [&] { ggml_get_glu_op(ggml_sqr(g, a)); });
}

TEST(swiglu_oai, stores_slope_and_limit) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 1, 1});
    ggml_tensor * b = g.input("b", {8, 3, 1, 1});
    expect_node(ggml_swiglu_oai(g, a, b, 1.702f, 7.0f),
                {GGML_OP_GLU,
                 GGML_TYPE_F32,
                 {8, 3, 1, 1},
                 {"a", "b"},
                 {GGML_GLU_OP_SWIGLU_OAI, 0, bits(1.702f), bits(7.0f)}});
}

} // namespace
} // namespace ggml::test
