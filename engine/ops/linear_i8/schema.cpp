#include "ops/linear_i8/schema.h"

#include "kernels/cpu/rotate_quantize.h"
#include "ops/common/attrs.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "ops/quantize_i8_convrot/schema.h"

#include <algorithm>

namespace sd {
namespace {

bool fits_group(int64_t k, const LinearI8Attrs & attrs, ggml_ext_why_t why) {
    if (!is_rotation_group(attrs.group) || k % attrs.group != 0) {
        return ggml_ext_refuse(
            why, "group %d is no power of four up to %d that divides K = %lld; 0 or 1 stand for no rotation",
            int(attrs.group), kMaxRotationGroup, static_cast<long long>(k));
    }
    return true;
}

bool fits_weight(const ggml_tensor * weight, ggml_ext_why_t why) {
    if (weight == nullptr || weight->type != GGML_TYPE_I8 || ggml_nelements(weight) == 0 ||
        weight->ne[2] != 1 || weight->ne[3] != 1) {
        return ggml_ext_refuse(why, "weight is %s, not i8 [K, N]", shape_text(weight).c_str());
    }
    if (!ggml_is_contiguous(weight)) {
        return ggml_ext_refuse(why, "weight %s is not contiguous: rows are %zu bytes apart",
                               shape_text(weight).c_str(), weight->nb[1]);
    }
    return true;
}

// The sizes of packed activations are those of the rows they were packed from.
bool fits_packed(const ggml_tensor * x, const LinearI8Attrs & attrs, ggml_ext_why_t why) {
    int64_t rows = 1, bytes = 0;
    bool counted = true;
    for (const int64_t n : attrs.rows) counted = counted && n >= 0 && !__builtin_mul_overflow(rows, n, &rows);
    counted = counted && rows <= INT64_MAX - 3 && !__builtin_mul_overflow(rows + 3, x->ne[0], &bytes);
    if (!counted || x->ne[1] != PackedRows::of(x->ne[0], rows).total_rows() || x->ne[2] != 1 ||
        x->ne[3] != 1) {
        return ggml_ext_refuse(why, "packed activations %s do not hold the rows of [%lld, %lld, %lld, %lld]",
                               shape_text(x).c_str(), static_cast<long long>(x->ne[0]),
                               static_cast<long long>(attrs.rows[0]), static_cast<long long>(attrs.rows[1]),
                               static_cast<long long>(attrs.rows[2]));
    }
    if (attrs.packed_group != attrs.group) {
        return ggml_ext_refuse(why, "activations were packed with group %d, the weight has group %d",
                               int(attrs.packed_group), int(attrs.group));
    }
    return true;
}

bool fits_input(const ggml_tensor * x, int64_t k, const LinearI8Attrs & attrs, ggml_ext_why_t why) {
    const bool floats = attrs.kind == LinearI8Input::floats;
    if (x == nullptr || x->type != (floats ? GGML_TYPE_F32 : GGML_TYPE_I8)) {
        return ggml_ext_refuse(why, "activations are %s, not f32 or i8 [K, rows...]", shape_text(x).c_str());
    }
    if (x->ne[0] != k) {
        return ggml_ext_refuse(why, "activations %s do not have the weight's K = %lld", shape_text(x).c_str(),
                               static_cast<long long>(k));
    }
    const bool gaps = k > 1 && x->nb[0] != sizeof(float);
    if (floats ? gaps || !is_float_aligned(x) : !ggml_is_contiguous(x)) {
        return ggml_ext_refuse(why, "activations %s are %s", shape_text(x).c_str(),
                               floats ? "not rows of adjacent floats" : "not contiguous");
    }
    if (attrs.kind == LinearI8Input::packed) return fits_packed(x, attrs, why);
    if (!std::equal(attrs.rows, attrs.rows + 3, x->ne + 1))
        return ggml_ext_refuse(why, "the attributes' rows are not those of %s", shape_text(x).c_str());
    return true;
}

bool fits_vector(const ggml_tensor * t, const char * name, int64_t n, const char * of, ggml_ext_why_t why) {
    if (t == nullptr) return true;
    if (t->type != GGML_TYPE_F32 || ggml_nelements(t) != n || !ggml_is_contiguous(t) ||
        !is_float_aligned(t)) {
        return ggml_ext_refuse(why, "%s is %s, not contiguous f32 with one element for each of the %lld %s",
                               name, shape_text(t).c_str(), static_cast<long long>(n), of);
    }
    return true;
}

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void * bytes, ggml_ext_output * output,
           ggml_ext_why_t why, void *) {
    if (n_inputs != 5) {
        return ggml_ext_refuse(
            why, "%d inputs, not weight, activations, weight scales, bias and activation scales", n_inputs);
    }
    const LinearI8Inputs in = {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]};
    const auto attrs = attrs_of<LinearI8Attrs>(bytes);
    if (attrs.factor != 1.0f) {
        return ggml_ext_refuse(why, "input scale %g: it must be finite, not zero, and 1 for activations %s",
                               double(attrs.factor), shape_text(in.x).c_str());
    }
    if (!fits_weight(in.weight, why)) return false;
    const int64_t k = in.weight->ne[0], n = in.weight->ne[1];
    if (!fits_group(k, attrs, why) || !fits_input(in.x, k, attrs, why)) return false;
    if (!fits_vector(in.weight_scale, "weight scale", n, "outputs", why)) return false;
    if (!fits_vector(in.bias, "bias", n, "outputs", why)) return false;
    if (in.x_scale != nullptr && attrs.kind != LinearI8Input::codes) {
        return ggml_ext_refuse(why, "activation scales %s belong to plain i8 codes, and activations are %s",
                               shape_text(in.x_scale).c_str(), shape_text(in.x).c_str());
    }
    if (!fits_vector(in.x_scale, "activation scale", ggml_nrows(in.x), "rows", why)) return false;
    output->ne[0] = n;
    std::copy(attrs.rows, attrs.rows + 3, output->ne + 1);
    return true;
}

} // namespace

LinearI8Rows::LinearI8Rows(const ggml_tensor * node) {
    const LinearI8Inputs in = LinearI8Inputs::of(node);
    const auto attrs = attrs_of<LinearI8Attrs>(node);
    kind = attrs.kind;
    group = attrs.group;
    n = attrs.rows[0] * attrs.rows[1] * attrs.rows[2];
    k = in.weight->ne[0];
    x = in.x;
    scales_ = in.x_scale != nullptr ? static_cast<const float *>(in.x_scale->data) : nullptr;
    if (kind == LinearI8Input::packed && x->data != nullptr)
        scales_ = reinterpret_cast<const float *>(codes(0) + PackedRows::of(k, n).scale_offset());
}

const float * LinearI8Rows::floats(int64_t row) const { return repeated_row(x, row_number(x, row)); }

const int8_t * LinearI8Rows::codes(int64_t row) const {
    return static_cast<const int8_t *>(x->data) + row * k;
}

float LinearI8Rows::scale(int64_t row) const { return scales_ != nullptr ? scales_[row] : 1.0f; }

ggml_ext_op_t linear_i8_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.linear_i8.v1";
    desc.attr_size = sizeof(LinearI8Attrs);
    desc.infer = infer;
    desc.reference = linear_i8_reference;
    return register_op_once(desc);
}

} // namespace sd
