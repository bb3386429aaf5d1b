#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

using Constructor = ggml_tensor * (*)(ggml_context *, ggml_tensor *, ggml_tensor *);

struct BinaryCase {
    const char * name;
    Constructor make;
    Constructor make_inplace;
    ggml_op op;
};

const BinaryCase kCases[] = {
    {"ggml_add", ggml_add, ggml_add_inplace, GGML_OP_ADD},
    {"ggml_sub", ggml_sub, ggml_sub_inplace, GGML_OP_SUB},
    {"ggml_mul", ggml_mul, ggml_mul_inplace, GGML_OP_MUL},
    {"ggml_div", ggml_div, ggml_div_inplace, GGML_OP_DIV},
};

TEST(binary, the_first_operand_gives_shape_and_type) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 6, 2, 3}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {2, 3, 1, 3});
    for (const BinaryCase & c : kCases) {
        expect_node(c.make(g, a, b), {c.op, GGML_TYPE_F16, {4, 6, 2, 3}, {"a", "b"}});
        ggml_tensor * t = c.make_inplace(g, a, b);
        expect_in_place(t, a);
        expect_described(t, {c.op, GGML_TYPE_F16, {4, 6, 2, 3}, {"a", "b"}});
    }
}

TEST(binary, refuses_an_operand_that_does_not_repeat_into_the_first) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 6, 1, 1});
    ggml_tensor * b = g.input("b", {4, 4, 1, 1}, GGML_TYPE_F16);
    ggml_tensor * empty = g.input("empty", {0, 6, 1, 1});
    for (const BinaryCase & c : kCases) {
        expect_stops({c.name, "f32 [4, 6, 1, 1]", "f16 [4, 4, 1, 1]"}, [&] { c.make(g, a, b); });
        expect_stops({c.name}, [&] { c.make_inplace(g, a, b); });
        expect_stops({c.name}, [&] { c.make(g, a, empty); });
        expect_stops({c.name}, [&] { c.make(g, b, a); });
    }
}

TEST(add_cast, gives_the_asked_type) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {32, 4, 1, 1}, GGML_TYPE_Q8_0);
    ggml_tensor * b = g.input("b", {32, 2, 1, 1});
    expect_node(ggml_add_cast(g, a, b, GGML_TYPE_F32),
                {GGML_OP_ADD, GGML_TYPE_F32, {32, 4, 1, 1}, {"a", "b"}});
    expect_stops({"ggml_add_cast", "q8_0 [32, 4, 1, 1]"}, [&] {
        ggml_add_cast(g, a, g.input("c", {16, 2, 1, 1}), GGML_TYPE_F32);
    });
    expect_stops({"ggml_add_cast"}, [&] { ggml_add_cast(g, b, b, GGML_TYPE_F16); });
}

TEST(add_id, needs_one_id_per_row) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 2, 5, 1});
    ggml_tensor * b = g.input("b", {8, 7, 1, 1});
    ggml_tensor * ids = g.input("ids", {2, 5, 1, 1}, GGML_TYPE_I32);
    expect_node(ggml_add_id(g, a, b, ids), {GGML_OP_ADD_ID, GGML_TYPE_F32, {8, 2, 5, 1}, {"a", "b", "ids"}});
    expect_stops({"ggml_add_id", "i32 [5, 2, 1, 1]"}, [&] {
        ggml_add_id(g, a, b, g.input("c", {5, 2, 1, 1}, GGML_TYPE_I32));
    });
    expect_stops({"ggml_add_id"}, [&] { ggml_add_id(g, a, b, g.input("c", {2, 5, 1, 1})); });
    expect_stops({"ggml_add_id"}, [&] { ggml_add_id(g, a, g.input("c", {4, 7, 1, 1}), ids); });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

TEST(add1, adds_a_scalar_to_padded_rows) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 2, 5, 1});
    ggml_tensor * b = g.input("b", {1, 1, 1, 1});
    expect_node(ggml_add1(g, a, b), {GGML_OP_ADD1, GGML_TYPE_F32, {8, 2, 5, 1}, {"a", "b"}});
    expect_in_place(ggml_add1_inplace(g, a, b), a);
    EXPECT_EQ(ggml_add1(g, ggml_view_2d(g, a, 4, 2, a->nb[1], 0), b)->op, GGML_OP_ADD1);
    expect_stops({"ggml_add1"}, [&] { ggml_add1(g, a, a); });
    expect_stops({"ggml_add1"}, [&] { ggml_add1(g, ggml_permute(g, a, 0, 2, 1, 3), b); });
}

#pragma GCC diagnostic pop

} // namespace
} // namespace ggml::test
