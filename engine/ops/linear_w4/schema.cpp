#include "ops/linear_w4/schema.h"

#include "kernels/cpu/rotate_quantize.h"
#include "ops/common/attrs.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "ops/quantize_i8_convrot/schema.h"

#include <algorithm>

namespace sd {
namespace {

using Long = long long; // for %lld

bool fits_weight(const ggml_tensor * weight, ggml_ext_why_t why) {
    if (weight == nullptr || weight->type != GGML_TYPE_I8 || ggml_nelements(weight) == 0 ||
        weight->ne[2] != 1 || weight->ne[3] != 1) {
        return ggml_ext_refuse(why, "weight is %s, not i8 [K/2, N]", shape_text(weight).c_str());
    }
    if (!ggml_is_contiguous(weight))
        return ggml_ext_refuse(why, "weight %s is not contiguous", shape_text(weight).c_str());
    if (weight->ne[0] > INT64_MAX / 2)
        return ggml_ext_refuse(why, "weight %s is too large", shape_text(weight).c_str());
    return true;
}

bool fits_group(int64_t k, const LinearW4Attrs & attrs, ggml_ext_why_t why) {
    if (!is_rotation_group(attrs.group) || k % attrs.group != 0) {
        return ggml_ext_refuse(why, "group %d is no power of four up to %d that divides K = %lld",
                               int(attrs.group), kMaxRotationGroup, Long(k));
    }
    return true;
}

bool fits_activations(const ggml_tensor * x, int64_t k, const LinearW4Attrs & attrs, ggml_ext_why_t why) {
    if (x == nullptr || x->type != GGML_TYPE_I8 || x->ne[0] != k || attrs.packed_group == 0) {
        return ggml_ext_refuse(
            why, "activations are %s, not f32 or packed by sd.quantize_i8_convrot.v1 with K = %lld",
            shape_text(x).c_str(), Long(k));
    }
    int64_t rows = 1, bytes = 0;
    bool counted = true;
    for (const int64_t n : attrs.rows) counted = counted && n >= 0 && !__builtin_mul_overflow(rows, n, &rows);
    counted = counted && rows <= INT64_MAX - 3 && !__builtin_mul_overflow(rows + 3, x->ne[0], &bytes);
    if (!counted || x->ne[1] != PackedRows::of(x->ne[0], rows).total_rows() || x->ne[2] != 1 ||
        x->ne[3] != 1 || !ggml_is_contiguous(x)) {
        return ggml_ext_refuse(why, "packed activations %s do not hold the rows of [%lld, %lld, %lld, %lld]",
                               shape_text(x).c_str(), Long(k), Long(attrs.rows[0]), Long(attrs.rows[1]),
                               Long(attrs.rows[2]));
    }
    if (attrs.packed_group != attrs.group) {
        return ggml_ext_refuse(why, "activations were packed with group %d, the weight has group %d",
                               int(attrs.packed_group), int(attrs.group));
    }
    return true;
}

bool fits_vector(const ggml_tensor * t, const char * name, int64_t n, ggml_ext_why_t why) {
    if (t == nullptr || t->type != GGML_TYPE_F32 || ggml_nelements(t) != n || !ggml_is_contiguous(t) ||
        !is_float_aligned(t)) {
        return ggml_ext_refuse(why, "%s is %s, not contiguous f32 with %lld elements", name,
                               shape_text(t).c_str(), Long(n));
    }
    return true;
}

bool fits_scales(const LinearW4Inputs & in, int64_t k, int64_t n, const LinearW4Attrs & attrs,
                 ggml_ext_why_t why) {
    const bool any_of_w4a8 =
        in.codebook != nullptr || in.channel_scale != nullptr || in.relative_scale != nullptr;
    if (attrs.format == LinearW4Format::w4a4 && attrs.unused == 0) {
        if (any_of_w4a8) {
            return ggml_ext_refuse(
                why, "weight scales (W4A4) and codebook, channel or relative scales (W4A8) in one layer");
        }
        return fits_vector(in.weight_scale, "weight scale", n, why);
    }
    if (attrs.format != LinearW4Format::w4a8 || in.weight_scale != nullptr || attrs.unused != 0)
        return ggml_ext_refuse(why, "the attributes name another format than the inputs");
    if (!any_of_w4a8) {
        return ggml_ext_refuse(
            why, "neither weight scales (W4A4) nor codebook, channel and relative scales (W4A8)");
    }
    if (k % kBookGroup != 0) {
        return ggml_ext_refuse(why, "K = %lld is no multiple of the %d columns of a relative scale", Long(k),
                               kBookGroup);
    }
    if (!fits_vector(in.codebook, "codebook", kBookLevels, why)) return false;
    if (!fits_vector(in.channel_scale, "channel scale", n, why)) return false;
    const ggml_tensor * rel = in.relative_scale;
    if (rel == nullptr || rel->type != GGML_TYPE_I8 || rel->ne[0] != k / kBookGroup || rel->ne[1] != n ||
        rel->ne[2] != 1 || rel->ne[3] != 1 || !ggml_is_contiguous(rel)) {
        return ggml_ext_refuse(why, "relative scale is %s, not contiguous i8 [%lld, %lld]",
                               shape_text(rel).c_str(), Long(k / kBookGroup), Long(n));
    }
    return true;
}

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void * bytes, ggml_ext_output * output,
           ggml_ext_why_t why, void *) {
    if (n_inputs != kLinearW4Inputs) {
        return ggml_ext_refuse(why,
                               "%d inputs, not weight, activations, weight scales, codebook, channel scales, "
                               "relative scales and bias",
                               n_inputs);
    }
    const LinearW4Inputs in = LinearW4Inputs::of(inputs);
    const auto attrs = attrs_of<LinearW4Attrs>(bytes);
    if (!fits_weight(in.weight, why)) return false;
    const int64_t k = 2 * in.weight->ne[0], n = in.weight->ne[1];
    if (!fits_group(k, attrs, why) || !fits_activations(in.x, k, attrs, why)) return false;
    if (!fits_scales(in, k, n, attrs, why)) return false;
    if (in.bias != nullptr && !fits_vector(in.bias, "bias", n, why)) return false;
    output->ne[0] = n;
    std::copy(attrs.rows, attrs.rows + 3, output->ne + 1);
    return true;
}

template <class T>
const T * data_of(const ggml_tensor * t) {
    return t != nullptr ? static_cast<const T *>(t->data) : nullptr;
}

} // namespace

LinearW4Operands::LinearW4Operands(const ggml_tensor * node) {
    const LinearW4Inputs in = LinearW4Inputs::of(node->src);
    const auto attrs = attrs_of<LinearW4Attrs>(node);
    format = attrs.format;
    k = 2 * in.weight->ne[0];
    n = in.weight->ne[1];
    rows = attrs.rows[0] * attrs.rows[1] * attrs.rows[2];
    weight = data_of<int8_t>(in.weight);
    codes = data_of<int8_t>(in.x);
    x_scale = codes == nullptr
                  ? nullptr
                  : reinterpret_cast<const float *>(codes + PackedRows::of(k, rows).scale_offset());
    scale = data_of<float>(format == LinearW4Format::w4a4 ? in.weight_scale : in.channel_scale);
    codebook = data_of<float>(in.codebook);
    relative_scale = data_of<uint8_t>(in.relative_scale);
    bias = data_of<float>(in.bias);
}

ggml_ext_op_t linear_w4_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.linear_w4_convrot.v1";
    desc.attr_size = sizeof(LinearW4Attrs);
    desc.infer = infer;
    desc.reference = linear_w4_reference;
    return register_op_once(desc);
}

} // namespace sd
