// UNARY(SILU or SIGMOID) -> MUL -> quantize_i8_convrot, factors in either order: gated layers whose gate is
// made of plain nodes, and attention with a sigmoid gate on its output.
#include "ops/quantize_i8_convrot/chain_rows.h"
#include "ops/quantize_i8_convrot/cpu.h"

namespace sd {
namespace {

bool is_activation(const ggml_tensor * t, ggml_unary_op op) {
    return t->op == GGML_OP_UNARY && ggml_get_unary_op(t) == op;
}

// Which source of the product is the activation's result; the other one is the gated.
int activated_source(const ggml_tensor * mul, ggml_unary_op op) {
    return is_activation(mul->src[0], op) ? 0 : 1;
}

bool complete(Chain & chain, ggml_unary_op op, ggml_ext_why_t why) {
    const ggml_tensor * mul = chain.nodes[0]->src[0];
    if (mul->op != GGML_OP_MUL || !is_activation(mul->src[activated_source(mul, op)], op)) {
        ggml_ext_refuse_match(why, 1, "'%s' is no product with a %s", mul->name, ggml_unary_op_name(op));
        return false;
    }
    const int i = activated_source(mul, op);
    chain.prepend(mul);
    chain.prepend(mul->src[i]);
    if (!ggml_are_same_shape(mul->src[0], mul->src[1])) {
        ggml_ext_refuse_match(why, 1, "'%s' repeats one of its factors", mul->name);
        return false;
    }
    return is_rows_input(chain, mul->src[i]->src[0], why) && is_rows_input(chain, mul->src[1 - i], why);
}

// What is activated, and what it multiplies.
void sources(const ConvrotWalk & walk, Row r, const float * (&rows)[2]) {
    const ggml_tensor *unary = walk.nodes[0], *mul = walk.nodes[1];
    rows[0] = row_start(unary->src[0], r);
    rows[1] = row_start(mul->src[mul->src[0] == unary ? 1 : 0], r);
}

template <Activation kActivation>
const float * row(const ConvrotWalk & walk, Row r, float * scratch) {
    const float * rows[2];
    sources(walk, r, rows);
    gate_row_simd(kActivation, rows[0], rows[1], scratch, walk.nodes[1]->ne[0]);
    return scratch;
}

template <ggml_unary_op kOp, Activation kActivation>
constexpr ConvrotRule kRule = {
    GGML_OP_UNARY,
    [](Chain & chain, ggml_ext_why_t why) { return complete(chain, kOp, why); },
    row<kActivation>,
    sources,
};

} // namespace

ggml_ext_status register_silu_mul_convrot(ggml_backend_dev_t device, const char * name) {
    return add_convrot_rule(device, name, kRule<GGML_UNARY_OP_SILU, Activation::silu>);
}

ggml_ext_status register_sigmoid_mul_convrot(ggml_backend_dev_t device, const char * name) {
    return add_convrot_rule(device, name, kRule<GGML_UNARY_OP_SIGMOID, Activation::sigmoid>);
}

} // namespace sd
