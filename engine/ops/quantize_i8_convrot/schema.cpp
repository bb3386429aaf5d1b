#include "ops/quantize_i8_convrot/schema.h"

#include "kernels/cpu/rotate_quantize.h"
#include "ops/common/attrs.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sd {
namespace {

bool rotation_fits(const ggml_tensor * x, int group, ggml_ext_why_t why) {
    if (!is_rotation_group(group)) {
        return ggml_ext_refuse(why, "the group is %d, not a power of four from 1 to %d", group,
                               kMaxRotationGroup);
    }
    if (x->ne[0] < 1 || x->ne[0] % group != 0) {
        return ggml_ext_refuse(why, "x is %s: its rows are no whole number of groups of %d",
                               shape_text(x).c_str(), group);
    }
    return true;
}

bool input_fits(const ggml_tensor * x, ggml_ext_why_t why) {
    if (x == nullptr || x->type != GGML_TYPE_F32)
        return ggml_ext_refuse(why, "x is %s, not F32", shape_text(x).c_str());
    if (x->ne[0] > 1 && x->nb[0] != sizeof(float))
        return ggml_ext_refuse(why, "elements of x are %zu bytes apart, not side by side", x->nb[0]);
    if (!is_float_aligned(x))
        return ggml_ext_refuse(why, "x, %s, lies between floats", shape_text(x).c_str());
    return true;
}

// Rows of codes, of padding and of scales: less than 8 * k * (rows + 3) bytes. A view may repeat memory, so
// its number of elements has no bound of its own.
bool can_be_counted(const ggml_tensor * x, ggml_ext_why_t why) {
    int64_t bytes = 8;
    bool fits = true;
    for (int d = 0; d < GGML_MAX_DIMS; ++d) fits = fits && !__builtin_mul_overflow(bytes, x->ne[d], &bytes);
    int64_t padding = 0;
    fits = fits && !__builtin_mul_overflow(x->ne[0], int64_t(24), &padding) &&
           !__builtin_add_overflow(bytes, padding, &bytes);
    return fits || ggml_ext_refuse(why, "x is %s, too large to be packed", shape_text(x).c_str());
}

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void * attr_bytes,
           ggml_ext_output * output, ggml_ext_why_t why, void *) {
    if (n_inputs != 1) return ggml_ext_refuse(why, "%d inputs, not x alone", n_inputs);
    const auto attrs = attrs_of<QuantizeI8ConvrotAttrs>(attr_bytes);
    const ggml_tensor * x = inputs[0];
    if (!input_fits(x, why) || !rotation_fits(x, attrs.group, why) || !can_be_counted(x, why)) return false;
    if (!std::equal(attrs.row_ne, attrs.row_ne + 3, x->ne + 1) || attrs.unused != 0)
        return ggml_ext_refuse(why, "the attributes name other sizes than x, %s", shape_text(x).c_str());
    const PackedRows rows = PackedRows::of(x->ne[0], ggml_nrows(x));
    output->type = GGML_TYPE_I8;
    output->ne[0] = rows.k;
    output->ne[1] = rows.total_rows();
    return true;
}

} // namespace

ggml_status quantize_i8_convrot_reference(ggml_tensor * node, void *) {
    const ggml_tensor * x = node->src[0];
    const int group = attrs_of<QuantizeI8ConvrotAttrs>(node).group;
    const PackedRows packed = PackedRows::of(x->ne[0], ggml_nrows(x));
    auto * codes = static_cast<int8_t *>(node->data);
    std::memset(codes, 0, ggml_nbytes(node));
    std::vector<float> rotated(size_t(packed.k));
    Row r = {};
    for (int64_t row = 0; row < packed.rows; ++row, next_row(x, r)) {
        float scale = 0;
        rotate_quantize_scalar(
            {repeated_row(x, r), packed.k, group, codes + row * packed.k, &scale, rotated.data()});
        std::memcpy(codes + packed.scale_offset() + row * int64_t(sizeof(float)), &scale, sizeof(float));
    }
    return GGML_STATUS_SUCCESS;
}

ggml_ext_op_t quantize_i8_convrot_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.quantize_i8_convrot.v1";
    desc.attr_size = sizeof(QuantizeI8ConvrotAttrs);
    desc.infer = infer;
    desc.reference = quantize_i8_convrot_reference;
    return register_op_once(desc);
}

bool is_packed_rows(const ggml_tensor * t) {
    const ggml_ext_op_t op = ggml_ext_node_op(t);
    return op != nullptr && op == quantize_i8_convrot_op();
}

const ggml_tensor * packed_rows_of(const ggml_tensor * t) {
    if (t == nullptr || is_packed_rows(t)) return t;
    const ggml_tensor * owner = t->view_src;
    const bool whole = owner != nullptr && is_packed_rows(owner) && t->view_offs == 0 &&
                       t->type == owner->type && ggml_are_same_shape(t, owner);
    return whole ? owner : nullptr;
}

bool is_sound(const ggml_tensor * node, ggml_ext_why_t why) {
    ggml_ext_output made = {GGML_TYPE_F32, {1, 1, 1, 1}};
    if (!infer(node->src, 1, ggml_ext_node_attrs(node), &made, why, nullptr)) return false;
    return (node->type == made.type && std::equal(made.ne, made.ne + GGML_MAX_DIMS, node->ne)) ||
           ggml_ext_refuse(why, "the result is %s", shape_text(node).c_str());
}

} // namespace sd

extern "C" ggml_tensor * ggml_quantize_i8_convrot(ggml_context * ctx, ggml_tensor * x, int group) {
    sd::QuantizeI8ConvrotAttrs attrs = {group, 0, {}};
    if (x != nullptr) std::copy(x->ne + 1, x->ne + GGML_MAX_DIMS, attrs.row_ne);
    return ggml_ext_op_create(ctx, sd::quantize_i8_convrot_op(), &x, 1, &attrs, sizeof(attrs));
}
