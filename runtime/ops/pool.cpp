#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <cmath>

namespace ggml {
namespace {

// Windows along one dimension. Paddings may be fractions (half of an even kernel), so the quotient is too.
Extent pool_output(const char * name, const ggml_tensor * a, int dim, int kernel, int stride, float pad) {
    GGML_SHAPE_CHECK(kernel > 0 && stride > 0 && pad >= 0.0f && pad < float(1 << 30), name,
                     "a window, stride or padding is not possible", a);
    const double windows = (double(a->ne[dim]) + 2.0 * pad - kernel) / stride + 1.0;
    GGML_SHAPE_CHECK(windows >= 1.0 && windows < 9e18, name, "the data is smaller than the window", a);
    return int64_t(windows);
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_pool_1d(ggml_context * ctx, ggml_tensor * a, ggml_op_pool op, int k0, int s0, int p0) {
    const char * name = "ggml_pool_1d";
    GGML_SHAPE_CHECK(op == GGML_OP_POOL_MAX || op == GGML_OP_POOL_AVG, name, "there is no such pooling", a);
    const ggml::Extent width = ggml::pool_output(name, a, 0, k0, s0, float(p0));
    ggml_tensor * result =
        ggml::new_result(ctx, name, GGML_TYPE_F32, {width, a->ne[1], a->ne[2], a->ne[3]}, {a});
    ggml::set_params(result, ggml::Pool1dParams{op, k0, s0, p0});
    return ggml::as_node(result, GGML_OP_POOL_1D, {a});
}

ggml_tensor * ggml_pool_2d(ggml_context * ctx, ggml_tensor * a, ggml_op_pool op, int k0, int k1, int s0,
                           int s1, float p0, float p1) {
    const char * name = "ggml_pool_2d";
    GGML_SHAPE_CHECK(op == GGML_OP_POOL_MAX || op == GGML_OP_POOL_AVG, name, "there is no such pooling", a);
    const ggml::Extent width = ggml::pool_output(name, a, 0, k0, s0, p0);
    const ggml::Extent height = ggml::pool_output(name, a, 1, k1, s1, p1);
    ggml_tensor * result =
        ggml::new_result(ctx, name, GGML_TYPE_F32, {width, height, a->ne[2], a->ne[3]}, {a});
    ggml::set_params(result, ggml::Pool2dParams{op, k0, k1, s0, s1, int32_t(p0), int32_t(p1)});
    return ggml::as_node(result, GGML_OP_POOL_2D, {a});
}
