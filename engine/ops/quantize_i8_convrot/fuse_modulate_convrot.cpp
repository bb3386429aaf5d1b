// modulate -> quantize_i8_convrot. Scale and shift are rows of x's width; modulations by a few numbers that
// repeat within a row stay nodes.
#include "ops/modulate/cpu.h"
#include "ops/modulate/schema.h"
#include "ops/quantize_i8_convrot/cpu.h"

namespace sd {
namespace {

bool complete(Chain & chain, ggml_ext_why_t why) {
    const ggml_tensor * node = chain.nodes[0]->src[0];
    if (ggml_ext_node_op(node) != modulate_op()) {
        ggml_ext_refuse_match(why, 1, "'%s' is no modulate", node->name);
        return false;
    }
    chain.prepend(node);
    const ModulateInputs in = ModulateInputs::of(node);
    return is_rows_input(chain, in.x, why) && is_repeated_input(chain, in.scale, in.x, why) &&
           (in.shift == nullptr || is_repeated_input(chain, in.shift, in.x, why));
}

const float * row(const ConvrotWalk & walk, Row r, float * scratch) {
    const ModulateInputs in = ModulateInputs::of(walk.nodes[0]);
    ModulateSpan span = {};
    span.x = row_start(in.x, r);
    span.scale = repeated_row(in.scale, r);
    span.shift = in.shift != nullptr ? repeated_row(in.shift, r) : nullptr;
    span.x_step = span.scale_step = span.shift_step = 1;
    span.y = scratch;
    span.n = in.x->ne[0];
    span.rows = 1;
    modulate_span_simd(span);
    return scratch;
}

void sources(const ConvrotWalk & walk, Row r, const float * (&rows)[2]) {
    rows[0] = row_start(walk.nodes[0]->src[0], r);
}

constexpr ConvrotRule kRule = {GGML_OP_CUSTOM, complete, row, sources};

} // namespace

ggml_ext_status register_modulate_convrot(ggml_backend_dev_t device, const char * name) {
    const ggml_ext_op_t op = modulate_op();
    if (op == nullptr) return GGML_EXT_NO_MEMORY;
    return add_convrot_rule(device, name, kRule, op);
}

} // namespace sd
