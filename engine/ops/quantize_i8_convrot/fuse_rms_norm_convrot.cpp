// RMS_NORM -> MUL(weight [K]) -> modulate -> quantize_i8_convrot, with or without MUL and with or without
// modulate: what adaptive and plain blocks of a transformer do ahead of their layers.
#include "ops/modulate/schema.h"
#include "ops/quantize_i8_convrot/chain_rows.h"
#include "ops/quantize_i8_convrot/cpu.h"

#include <cstring>
#include <initializer_list>

namespace sd {
namespace {

// The nodes between norm and quantization; NULL: left out.
struct Parts {
    const ggml_tensor *norm, *mul, *modulate;

    const ggml_tensor * x() const { return norm->src[0]; }
    // Factors may be swapped: products do not depend on their order.
    const ggml_tensor * weight() const {
        if (mul == nullptr) return nullptr;
        return mul->src[0] == norm ? mul->src[1] : mul->src[0];
    }
    const ggml_tensor * scale() const { return modulate != nullptr ? modulate->src[1] : nullptr; }
    const ggml_tensor * shift() const { return modulate != nullptr ? modulate->src[2] : nullptr; }

    // From the input of the quantization backwards; norm is NULL when there is none.
    static Parts ending_in(const ggml_tensor * t) {
        Parts parts = {};
        if (ggml_ext_node_op(t) == modulate_op()) parts.modulate = t, t = t->src[0];
        if (t->op == GGML_OP_MUL) {
            parts.mul = t;
            t = t->src[0]->op == GGML_OP_RMS_NORM ? t->src[0] : t->src[1];
        }
        if (t->op == GGML_OP_RMS_NORM) parts.norm = t;
        return parts;
    }
};

bool complete(Chain & chain, ggml_ext_why_t why) {
    const ggml_tensor * input = chain.nodes[0]->src[0];
    const Parts parts = Parts::ending_in(input);
    if (parts.norm == nullptr) {
        ggml_ext_refuse_match(why, 1, "'%s' is made of no RMS_NORM", input->name);
        return false;
    }
    for (const ggml_tensor * node : {parts.modulate, parts.mul, parts.norm}) {
        if (node != nullptr) chain.prepend(node);
    }
    if (!is_rows_input(chain, parts.x(), why)) return false;
    if (parts.mul != nullptr && !ggml_are_same_shape(parts.mul, parts.norm)) {
        ggml_ext_refuse_match(why, 1, "the norm is repeated over '%s'", parts.mul->name);
        return false;
    }
    for (const ggml_tensor * t : {parts.weight(), parts.scale(), parts.shift()}) {
        if (t != nullptr && !is_repeated_input(chain, t, parts.norm, why)) return false;
    }
    return true;
}

const float * row(const ConvrotWalk & walk, Row r, float * scratch) {
    const Parts parts = Parts::ending_in(walk.quantize->src[0]);
    const auto row_of = [&](const ggml_tensor * t) { return t != nullptr ? repeated_row(t, r) : nullptr; };
    NormRow row = {row_start(parts.x(), r),
                   row_of(parts.weight()),
                   row_of(parts.scale()),
                   row_of(parts.shift()),
                   scratch,
                   parts.x()->ne[0],
                   0.0f};
    std::memcpy(&row.eps, parts.norm->op_params, sizeof(row.eps));
    norm_row_simd(row);
    return scratch;
}

void sources(const ConvrotWalk & walk, Row r, const float * (&rows)[2]) {
    rows[0] = row_start(walk.nodes[0]->src[0], r);
}

constexpr ConvrotRule kRule = {GGML_OP_RMS_NORM, complete, row, sources};

} // namespace

ggml_ext_status register_rms_norm_convrot(ggml_backend_dev_t device, const char * name) {
    return add_convrot_rule(device, name, kRule);
}

} // namespace sd
