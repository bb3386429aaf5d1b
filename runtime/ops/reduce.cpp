#include "runtime/ops/build.h"

#include <limits>

ggml_tensor * ggml_sum(ggml_context * ctx, ggml_tensor * a) {
    return ggml::as_node(ggml::new_result(ctx, "ggml_sum", a->type, {1, 1, 1, 1}, {a}), GGML_OP_SUM, {a});
}

ggml_tensor * ggml_sum_rows(ggml_context * ctx, ggml_tensor * a) {
    ggml_tensor * result =
        ggml::new_result(ctx, "ggml_sum_rows", a->type, {1, a->ne[1], a->ne[2], a->ne[3]}, {a});
    return ggml::as_node(result, GGML_OP_SUM_ROWS, {a});
}

ggml_tensor * ggml_mean(ggml_context * ctx, ggml_tensor * a) {
    ggml_tensor * result =
        ggml::new_result(ctx, "ggml_mean", GGML_TYPE_F32, {1, a->ne[1], a->ne[2], a->ne[3]}, {a});
    return ggml::as_node(result, GGML_OP_MEAN, {a});
}

ggml_tensor * ggml_cumsum(ggml_context * ctx, ggml_tensor * a) {
    GGML_SHAPE_CHECK(a->type == GGML_TYPE_F32, "ggml_cumsum", "a is not f32", a);
    return ggml::as_node(ggml::result_like(ctx, "ggml_cumsum", a, false), GGML_OP_CUMSUM, {a});
}

ggml_tensor * ggml_argmax(ggml_context * ctx, ggml_tensor * a) {
    GGML_SHAPE_CHECK(ggml_is_matrix(a), "ggml_argmax", "a is not a matrix", a);
    GGML_SHAPE_CHECK(a->ne[0] <= std::numeric_limits<int32_t>::max(), "ggml_argmax",
                     "rows are longer than an i32 index reaches", a);
    ggml_tensor * result = ggml::new_result(ctx, "ggml_argmax", GGML_TYPE_I32, {a->ne[1], 1, 1, 1}, {a});
    return ggml::as_node(result, GGML_OP_ARGMAX, {a});
}

ggml_tensor * ggml_count_equal(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    GGML_SHAPE_CHECK(ggml_are_same_shape(a, b), "ggml_count_equal", "a and b differ in shape", a, b);
    ggml_tensor * result = ggml::new_result(ctx, "ggml_count_equal", GGML_TYPE_I64, {1, 1, 1, 1}, {a, b});
    return ggml::as_node(result, GGML_OP_COUNT_EQUAL, {a, b});
}
