#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(reduce, shrinks_rows_or_everything_to_one_element) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 5}, GGML_TYPE_F16);
    expect_node(ggml_sum(g, a), {GGML_OP_SUM, GGML_TYPE_F16, {1, 1, 1, 1}, {"a"}});
    expect_node(ggml_sum_rows(g, a), {GGML_OP_SUM_ROWS, GGML_TYPE_F16, {1, 3, 2, 5}, {"a"}});
    expect_node(ggml_mean(g, a), {GGML_OP_MEAN, GGML_TYPE_F32, {1, 3, 2, 5}, {"a"}});
}

TEST(cumsum, keeps_the_shape_of_f32_rows) {
    OpGraph g;
    expect_node(ggml_cumsum(g, g.input("a", {8, 3, 2, 5})),
                {GGML_OP_CUMSUM, GGML_TYPE_F32, {8, 3, 2, 5}, {"a"}});
    expect_stops({"ggml_cumsum", "f16 [8, 3, 2, 5]"}, [&] {
        ggml_cumsum(g, g.input("a", {8, 3, 2, 5}, GGML_TYPE_F16));
    });
}

TEST(argmax, gives_one_index_per_row_of_a_matrix) {
    OpGraph g;
    expect_node(ggml_argmax(g, g.input("a", {8, 3, 1, 1})),
                {GGML_OP_ARGMAX, GGML_TYPE_I32, {3, 1, 1, 1}, {"a"}});
    expect_stops({"ggml_argmax", "f32 [8, 3, 2, 1]"}, [&] { ggml_argmax(g, g.input("a", {8, 3, 2, 1})); });
    expect_stops({"ggml_argmax"}, [&] { ggml_argmax(g, g.input("a", {int64_t(1) << 31, 1, 1, 1})); });
}

TEST(count_equal, gives_one_64_bit_number) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 1, 1}, GGML_TYPE_I32);
    ggml_tensor * b = g.input("b", {8, 3, 1, 1}, GGML_TYPE_I32);
    expect_node(ggml_count_equal(g, a, b), {GGML_OP_COUNT_EQUAL, GGML_TYPE_I64, {1, 1, 1, 1}, {"a", "b"}});
    expect_stops({"ggml_count_equal", "i32 [8, 1, 1, 1]"}, [&] {
        ggml_count_equal(g, a, g.input("c", {8, 1, 1, 1}, GGML_TYPE_I32));
    });
}

} // namespace
} // namespace ggml::test
