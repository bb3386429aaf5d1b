#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(mul_mat, gives_rows_of_a_times_rows_of_b_in_f32) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {32, 5, 2, 1}, GGML_TYPE_Q8_0);
    ggml_tensor * b = g.input("b", {32, 7, 6, 3}, GGML_TYPE_F16);
    expect_node(ggml_mul_mat(g, a, b), {GGML_OP_MUL_MAT, GGML_TYPE_F32, {5, 7, 6, 3}, {"a", "b"}});
}

TEST(mul_mat, refuses_operands_that_do_not_multiply) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {32, 5, 2, 1});
    const Shape wrong[] = {{16, 7, 2, 1}, {32, 7, 3, 1}, {32, 7, 1, 1}};
    for (const Shape & ne : wrong) {
        expect_stops({"ggml_mul_mat", "f32 [32, 5, 2, 1], f32 ["},
                     [&] { ggml_mul_mat(g, a, g.input("b", ne)); });
    }
    expect_stops({"ggml_mul_mat"}, [&] {
        ggml_mul_mat(g, ggml_transpose(g, a), g.input("b", {5, 7, 2, 1}));
    });
    expect_stops({"ggml_mul_mat"}, [&] { ggml_mul_mat(g, g.input("e", {32, 5, 0, 1}), a); });
    ggml_tensor * tall = g.input("tall", {1, int64_t(1) << 32, 1, 1});
    expect_stops({"ggml_mul_mat", "4294967296"}, [&] { ggml_mul_mat(g, tall, tall); });
}

TEST(mul_mat, rows_may_have_no_elements) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {0, 5, 1, 1});
    ggml_tensor * b = g.input("b", {0, 7, 1, 1});
    expect_node(ggml_mul_mat(g, a, b), {GGML_OP_MUL_MAT, GGML_TYPE_F32, {5, 7, 1, 1}, {"a", "b"}});
    ggml_tensor * ids = g.input("ids", {2, 7, 1, 1}, GGML_TYPE_I32);
    ggml_tensor * c = g.input("c", {0, 1, 7, 1});
    expect_node(ggml_mul_mat_id(g, a, c, ids),
                {GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {5, 2, 7, 1}, {"a", "c", "ids"}});
    expect_node(ggml_out_prod(g, a, g.input("d", {3, 5, 1, 1})),
                {GGML_OP_OUT_PROD, GGML_TYPE_F32, {0, 3, 1, 1}, {"a", "d"}});
}

TEST(mul_mat, precision_and_hint_are_the_first_two_parameters) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {32, 5, 1, 1});
    ggml_tensor * t = ggml_mul_mat(g, a, a);
    ggml_mul_mat_set_hint(t, GGML_HINT_SRC0_IS_HADAMARD);
    ggml_mul_mat_set_prec(t, GGML_PREC_F32);
    expect_op_params(t, {GGML_PREC_F32, GGML_HINT_SRC0_IS_HADAMARD});
    expect_stops({"ggml_mul_mat_set_prec"}, [&] { ggml_mul_mat_set_prec(a, GGML_PREC_F32); });
    expect_stops({"ggml_mul_mat_set_hint"}, [&] { ggml_mul_mat_set_hint(a, GGML_HINT_NONE); });
}

TEST(mul_mat_id, takes_one_list_of_matrices_per_token) {
    OpGraph g;
    ggml_tensor * as = g.input("as", {32, 5, 8, 1});
    ggml_tensor * b = g.input("b", {32, 1, 7, 1});
    ggml_tensor * ids = g.input("ids", {2, 7, 1, 1}, GGML_TYPE_I32);
    expect_node(ggml_mul_mat_id(g, as, b, ids),
                {GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {5, 2, 7, 1}, {"as", "b", "ids"}});
    const auto refused = [&](ggml_tensor * x, ggml_tensor * y, ggml_tensor * z) {
        expect_stops({"ggml_mul_mat_id: "}, [&] { ggml_mul_mat_id(g, x, y, z); });
    };
    refused(as, b, g.input("x", {2, 6, 1, 1}, GGML_TYPE_I32));
    refused(as, b, g.input("x", {2, 7, 1, 1}));
    refused(as, g.input("x", {16, 1, 7, 1}), ids);
    refused(as, g.input("x", {32, 3, 7, 1}), ids);
    refused(as, g.input("x", {32, 1, 7, 2}), ids);
    refused(g.input("x", {32, 5, 8, 2}), b, ids);
    refused(ggml_transpose(g, g.input("x", {5, 32, 8, 1})), b, ids);
}

TEST(out_prod, sums_over_the_rows_both_operands_have) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 9, 1, 1});
    ggml_tensor * b = g.input("b", {6, 9, 2, 3});
    expect_node(ggml_out_prod(g, a, b), {GGML_OP_OUT_PROD, GGML_TYPE_F32, {4, 6, 2, 3}, {"a", "b"}});
    expect_stops({"ggml_out_prod", "f32 [6, 8, 1, 1]"}, [&] {
        ggml_out_prod(g, a, g.input("c", {6, 8, 1, 1}));
    });
    expect_stops({"ggml_out_prod"}, [&] { ggml_out_prod(g, b, a); });
    expect_stops({"ggml_out_prod"}, [&] {
        ggml_out_prod(g, ggml_transpose(g, g.input("c", {9, 4, 1, 1})), b);
    });
}

} // namespace
} // namespace ggml::test
