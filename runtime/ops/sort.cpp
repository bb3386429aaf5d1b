#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <limits>

namespace ggml {
namespace {

void check_row_length(const char * name, const ggml_tensor * a) {
    GGML_SHAPE_CHECK(a->ne[0] <= std::numeric_limits<int32_t>::max(), name,
                     "rows are longer than an i32 index reaches", a);
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_argsort(ggml_context * ctx, ggml_tensor * a, ggml_sort_order order) {
    ggml::check_row_length("ggml_argsort", a);
    GGML_SHAPE_CHECK(order == GGML_SORT_ORDER_ASC || order == GGML_SORT_ORDER_DESC, "ggml_argsort",
                     "there is no such order", a);
    ggml_tensor * result = ggml::new_result(ctx, "ggml_argsort", GGML_TYPE_I32, ggml::extents_of(a), {a});
    ggml::set_params(result, ggml::ArgsortParams{order});
    return ggml::as_node(result, GGML_OP_ARGSORT, {a});
}

ggml_tensor * ggml_argsort_top_k(ggml_context * ctx, ggml_tensor * a, int k) {
    GGML_SHAPE_CHECK(k >= 0 && k <= a->ne[0], "ggml_argsort_top_k", "rows have fewer than k elements", a);
    ggml_tensor * sorted = ggml_argsort(ctx, a, GGML_SORT_ORDER_DESC);
    return ggml_view_4d(ctx, sorted, k, sorted->ne[1], sorted->ne[2], sorted->ne[3], sorted->nb[1],
                        sorted->nb[2], sorted->nb[3], 0);
}

ggml_tensor * ggml_top_k(ggml_context * ctx, ggml_tensor * a, int k) {
    GGML_SHAPE_CHECK(k >= 0 && k <= a->ne[0], "ggml_top_k", "rows have fewer than k elements", a);
    ggml::check_row_length("ggml_top_k", a);
    ggml_tensor * result =
        ggml::new_result(ctx, "ggml_top_k", GGML_TYPE_I32, {k, a->ne[1], a->ne[2], a->ne[3]}, {a});
    return ggml::as_node(result, GGML_OP_TOP_K, {a});
}
