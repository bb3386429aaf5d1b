// SET and ACC: a with b written, or added, into a strided region of it.
#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <algorithm>
#include <limits>

namespace ggml {
namespace {

struct Region {
    size_t nb1, nb2, nb3, offset;
};

// op_params hold 32-bit strides. One that is never multiplied by a coordinate above 0 may be anything.
bool fit_stride(size_t stride, int64_t steps, int32_t & out) {
    const size_t most = std::numeric_limits<int32_t>::max();
    out = int32_t(std::min(stride, most));
    return steps <= 1 || stride <= most;
}

RegionParams region_params(const char * name, const ggml_tensor * a, const ggml_tensor * b, const Region & r,
                           bool inplace) {
    RegionParams params{};
    params.inplace = inplace;
    const bool fits = fit_stride(r.nb1, b->ne[1], params.nb1) && fit_stride(r.nb2, b->ne[2], params.nb2) &&
                      fit_stride(r.nb3, b->ne[3], params.nb3) && fit_stride(r.offset, 2, params.offset);
    GGML_SHAPE_CHECK(fits, name, "a stride or the offset of the region is above 2 GiB", a, b);
    return params;
}

// The region is as large as b and has elements of a's type.
void check_inside(const char * name, const ggml_tensor * result, const ggml_tensor * b, const Region & r) {
    const Strides nb = {ggml_type_size(result->type), r.nb1, r.nb2, r.nb3};
    size_t bytes = 0, end = 0;
    const bool inside = span_bytes(result->type, shape_of(b), nb, bytes) &&
                        checked_add(r.offset, bytes, end) && end <= ggml_nbytes(result);
    GGML_SHAPE_CHECK(inside, name, "the region reaches past the end of a", result, b);
}

ggml_tensor * write_region(ggml_context * ctx, const char * name, ggml_op op, ggml_tensor * a,
                           ggml_tensor * b, const Region & region, bool inplace) {
    GGML_SHAPE_CHECK(ggml_nelements(b) <= ggml_nelements(a), name, "b has more elements than a", a, b);
    const RegionParams params = region_params(name, a, b, region, inplace);
    ggml_tensor * result = result_like(ctx, name, a, inplace);
    check_inside(name, result, b, region);
    set_params(result, params);
    return as_node(result, op, {a, b});
}

ggml_tensor * acc(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, const Region & region, bool inplace) {
    GGML_SHAPE_CHECK(ggml_is_contiguous(a), "ggml_acc", "a is not contiguous", a, b);
    GGML_SHAPE_CHECK(a->type == GGML_TYPE_F32 && b->type == GGML_TYPE_F32, "ggml_acc", "a or b is not f32", a,
                     b);
    return write_region(ctx, "ggml_acc", GGML_OP_ACC, a, b, region, inplace);
}

ggml_tensor * set(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, const Region & region, bool inplace) {
    return write_region(ctx, "ggml_set", GGML_OP_SET, a, b, region, inplace);
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_acc(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t nb1, size_t nb2,
                       size_t nb3, size_t offset) {
    return ggml::acc(ctx, a, b, {nb1, nb2, nb3, offset}, false);
}

ggml_tensor * ggml_acc_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t nb1, size_t nb2,
                               size_t nb3, size_t offset) {
    return ggml::acc(ctx, a, b, {nb1, nb2, nb3, offset}, true);
}

ggml_tensor * ggml_set(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t nb1, size_t nb2,
                       size_t nb3, size_t offset) {
    return ggml::set(ctx, a, b, {nb1, nb2, nb3, offset}, false);
}

ggml_tensor * ggml_set_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t nb1, size_t nb2,
                               size_t nb3, size_t offset) {
    return ggml::set(ctx, a, b, {nb1, nb2, nb3, offset}, true);
}

ggml_tensor * ggml_set_1d(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t offset) {
    return ggml::set(ctx, a, b, {a->nb[1], a->nb[2], a->nb[3], offset}, false);
}

ggml_tensor * ggml_set_1d_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t offset) {
    return ggml::set(ctx, a, b, {a->nb[1], a->nb[2], a->nb[3], offset}, true);
}

ggml_tensor * ggml_set_2d(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t nb1, size_t offset) {
    return ggml::set(ctx, a, b, {nb1, a->nb[2], a->nb[3], offset}, false);
}

ggml_tensor * ggml_set_2d_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, size_t nb1,
                                  size_t offset) {
    return ggml::set(ctx, a, b, {nb1, a->nb[2], a->nb[3], offset}, true);
}
