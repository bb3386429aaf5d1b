#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(get_rows, gives_floats_except_for_i32) {
    OpGraph g;
    ggml_tensor * ids = g.input("ids", {5, 2, 3, 1}, GGML_TYPE_I32);
    expect_node(ggml_get_rows(g, g.input("a", {32, 7, 2, 3}, GGML_TYPE_Q4_0), ids),
                {GGML_OP_GET_ROWS, GGML_TYPE_F32, {32, 5, 2, 3}, {"a", "ids"}});
    expect_node(ggml_get_rows(g, g.input("a", {32, 7, 2, 3}, GGML_TYPE_I32), ids),
                {GGML_OP_GET_ROWS, GGML_TYPE_I32, {32, 5, 2, 3}, {"a", "ids"}});
    expect_stops({"ggml_get_rows", "f32 [32, 7, 1, 1], i32 [5, 2, 3, 1]"}, [&] {
        ggml_get_rows(g, g.input("a", {32, 7, 1, 1}), ids);
    });
    expect_stops({"ggml_get_rows"}, [&] {
        ggml_get_rows(g, g.input("a", {32, 7, 1, 1}), g.input("b", {5, 1, 1, 1}));
    });
}

TEST(set_rows, is_a_view_of_the_destination_which_is_its_last_source) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {32, 9, 4, 2}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {32, 5, 4, 2});
    ggml_tensor * c = g.input("c", {5, 2, 1, 1}, GGML_TYPE_I64);
    ggml_tensor * t = ggml_set_rows(g, a, b, c);
    expect_described(t, {GGML_OP_SET_ROWS, GGML_TYPE_F16, {32, 9, 4, 2}, {"b", "c", "a"}});
    expect_in_place(t, a);

    const auto refused = [&](ggml_tensor * rows, ggml_tensor * numbers) {
        expect_stops({"ggml_set_rows", "f16 [32, 9, 4, 2]"}, [&] { ggml_set_rows(g, a, rows, numbers); });
    };
    refused(g.input("x", {16, 5, 4, 2}), c);
    refused(g.input("x", {32, 4, 4, 2}), c);
    refused(g.input("x", {32, 5, 4, 2}, GGML_TYPE_BF16), c);
    refused(b, g.input("x", {5, 3, 1, 1}, GGML_TYPE_I64));
    refused(b, g.input("x", {5, 0, 1, 1}, GGML_TYPE_I64));
    refused(b, g.input("x", {5, 2, 1, 1}));
    expect_stops({"ggml_set_rows"}, [&] { ggml_set_rows(g, ggml_transpose(g, a), ggml_transpose(g, a), c); });
}

TEST(diag, makes_square_matrices) {
    OpGraph g;
    expect_node(ggml_diag(g, g.input("a", {4, 1, 3, 2})), {GGML_OP_DIAG, GGML_TYPE_F32, {4, 4, 3, 2}, {"a"}});
    expect_stops({"ggml_diag", "f32 [4, 2, 1, 1]"}, [&] { ggml_diag(g, g.input("a", {4, 2, 1, 1})); });
    expect_stops({"ggml_diag"}, [&] { ggml_diag(g, g.input("a", {int64_t(1) << 32, 1, 1, 1})); });
}

TEST(diag_mask, stores_how_many_columns_precede) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {6, 4, 1, 1});
    expect_node(ggml_diag_mask_inf(g, a, 2),
                {GGML_OP_DIAG_MASK_INF, GGML_TYPE_F32, {6, 4, 1, 1}, {"a"}, {2}});
    expect_node(ggml_diag_mask_zero(g, a, 2),
                {GGML_OP_DIAG_MASK_ZERO, GGML_TYPE_F32, {6, 4, 1, 1}, {"a"}, {2}});
    expect_in_place(ggml_diag_mask_inf_inplace(g, a, 2), a);
    expect_in_place(ggml_diag_mask_zero_inplace(g, a, 2), a);
}

TEST(tri, takes_square_f32_matrices) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 4, 2, 1});
    expect_node(ggml_tri(g, a, GGML_TRI_TYPE_LOWER), {GGML_OP_TRI, GGML_TYPE_F32, {4, 4, 2, 1}, {"a"}, {3}});
    expect_stops({"ggml_tri", "f32 [4, 3, 1, 1]"}, [&] {
        ggml_tri(g, g.input("b", {4, 3, 1, 1}), GGML_TRI_TYPE_UPPER);
    });
    expect_stops({"ggml_tri"}, [&] {
        ggml_tri(g, g.input("b", {4, 4, 1, 1}, GGML_TYPE_F16), GGML_TRI_TYPE_UPPER);
    });
    expect_stops({"ggml_tri"}, [&] { ggml_tri(g, ggml_transpose(g, a), GGML_TRI_TYPE_UPPER); });
    expect_stops({"ggml_tri"}, [&] { ggml_tri(g, a, ggml_tri_type(4)); });
}

} // namespace
} // namespace ggml::test
