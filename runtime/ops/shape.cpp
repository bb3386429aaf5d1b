#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <cstdlib>

namespace ggml {
namespace {

ggml_tensor * repeat(ggml_context * ctx, ggml_tensor * a, const Extents & ne, Operands operands) {
    bool repeats = true;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) repeats = repeats && repeats_into(a->ne[i], ne[i].value());
    // An empty a may be asked for any other empty shape.
    const bool both_empty = ggml_is_empty(a) && count_of(ne) == 0;
    if (!repeats && !both_empty)
        shape_failure(__FILE__, __LINE__, "ggml_repeat", "a does not repeat into the result", operands);
    return as_node(new_result(ctx, "ggml_repeat", a->type, ne, operands), GGML_OP_REPEAT, {a});
}

// A negative padding crops.
ggml_tensor * pad(ggml_context * ctx, ggml_tensor * a, const PadParams & p) {
    const char * name = p.circular ? "ggml_pad_circular" : "ggml_pad";
    const int32_t left[GGML_MAX_DIMS] = {p.lp0, p.lp1, p.lp2, p.lp3};
    const int32_t right[GGML_MAX_DIMS] = {p.rp0, p.rp1, p.rp2, p.rp3};
    Extents ne = extents_of(a);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) ne[i] = ne[i] + left[i] + right[i];
    GGML_SHAPE_CHECK(!p.circular || !ggml_is_empty(a) || count_of(ne) == 0, name,
                     "there is nothing to wrap around", a);
    ggml_tensor * result = new_result(ctx, name, a->type, ne, {a});
    set_params(result, p);
    return as_node(result, GGML_OP_PAD, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_repeat(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::repeat(ctx, a, ggml::extents_of(b), {a, b});
}

ggml_tensor * ggml_repeat_4d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2,
                             int64_t ne3) {
    return ggml::repeat(ctx, a, {ne0, ne1, ne2, ne3}, {a});
}

ggml_tensor * ggml_concat(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int dim) {
    GGML_SHAPE_CHECK(dim >= 0 && dim < GGML_MAX_DIMS, "ggml_concat", "the dimension is none of 0, 1, 2, 3", a,
                     b);
    GGML_SHAPE_CHECK(a->type == b->type, "ggml_concat", "a and b differ in type", a, b);
    ggml::Extents ne = ggml::extents_of(a);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        GGML_SHAPE_CHECK(i == dim || a->ne[i] == b->ne[i], "ggml_concat",
                         "a and b differ in a dimension that is not joined", a, b);
    }
    ne[dim] = ne[dim] + b->ne[dim];
    ggml_tensor * result = ggml::new_result(ctx, "ggml_concat", a->type, ne, {a, b});
    ggml::set_params(result, ggml::ConcatParams{dim});
    return ggml::as_node(result, GGML_OP_CONCAT, {a, b});
}

ggml_tensor * ggml_pad(ggml_context * ctx, ggml_tensor * a, int p0, int p1, int p2, int p3) {
    return ggml::pad(ctx, a, {0, p0, 0, p1, 0, p2, 0, p3, 0});
}

ggml_tensor * ggml_pad_circular(ggml_context * ctx, ggml_tensor * a, int p0, int p1, int p2, int p3) {
    return ggml::pad(ctx, a, {0, p0, 0, p1, 0, p2, 0, p3, 1});
}

ggml_tensor * ggml_pad_ext(ggml_context * ctx, ggml_tensor * a, int lp0, int rp0, int lp1, int rp1, int lp2,
                           int rp2, int lp3, int rp3) {
    return ggml::pad(ctx, a, {lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3, 0});
}

ggml_tensor * ggml_pad_ext_circular(ggml_context * ctx, ggml_tensor * a, int lp0, int rp0, int lp1, int rp1,
                                    int lp2, int rp2, int lp3, int rp3) {
    return ggml::pad(ctx, a, {lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3, 1});
}

ggml_tensor * ggml_pad_reflect_1d(ggml_context * ctx, ggml_tensor * a, int p0, int p1) {
    const char * name = "ggml_pad_reflect_1d";
    GGML_SHAPE_CHECK(p0 >= 0 && p1 >= 0 && p0 < a->ne[0] && p1 < a->ne[0], name,
                     "a padding is negative or not shorter than the row it mirrors", a);
    GGML_SHAPE_CHECK(ggml_is_contiguous(a) && a->type == GGML_TYPE_F32, name, "a is not contiguous f32", a);
    ggml::Extents ne = ggml::extents_of(a);
    ne[0] = ne[0] + p0 + p1;
    ggml_tensor * result = ggml::new_result(ctx, name, a->type, ne, {a});
    ggml::set_params(result, ggml::PadReflect1dParams{p0, p1});
    return ggml::as_node(result, GGML_OP_PAD_REFLECT_1D, {a});
}

ggml_tensor * ggml_roll(ggml_context * ctx, ggml_tensor * a, int shift0, int shift1, int shift2, int shift3) {
    const int32_t shift[GGML_MAX_DIMS] = {shift0, shift1, shift2, shift3};
    GGML_SHAPE_CHECK(a->nb[0] == ggml_type_size(a->type), "ggml_roll", "the rows of a are not contiguous", a);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        GGML_SHAPE_CHECK(std::abs(int64_t(shift[i])) < a->ne[i], "ggml_roll",
                         "a shift is not smaller than its dimension", a);
    }
    ggml_tensor * result = ggml::result_like(ctx, "ggml_roll", a, false);
    ggml::set_params(result, ggml::RollParams{{shift0, shift1, shift2, shift3}});
    return ggml::as_node(result, GGML_OP_ROLL, {a});
}
