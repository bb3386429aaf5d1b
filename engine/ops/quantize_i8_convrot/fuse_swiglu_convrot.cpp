// GLU(SWIGLU) -> quantize_i8_convrot: of two tensors, or of the halves of each row of one.
#include "ops/quantize_i8_convrot/chain_rows.h"
#include "ops/quantize_i8_convrot/cpu.h"

#include <utility>

namespace sd {
namespace {

bool complete(Chain & chain, ggml_ext_why_t why) {
    const ggml_tensor * node = chain.nodes[0]->src[0];
    if (node->op != GGML_OP_GLU || ggml_get_glu_op(node) != GGML_GLU_OP_SWIGLU) {
        ggml_ext_refuse_match(why, 1, "'%s' is no swiglu", node->name);
        return false;
    }
    chain.prepend(node);
    return is_rows_input(chain, node->src[0], why) &&
           (node->src[1] == nullptr || is_rows_input(chain, node->src[1], why));
}

// What is activated, and what it multiplies.
void sources(const ConvrotWalk & walk, Row r, const float * (&rows)[2]) {
    const ggml_tensor *node = walk.nodes[0], *a = node->src[0], *b = node->src[1];
    rows[0] = row_start(a, r);
    rows[1] = b != nullptr ? row_start(b, r) : rows[0] + node->ne[0];
    if (b == nullptr && node->op_params[1] != 0) std::swap(rows[0], rows[1]); // the halves are swapped
}

const float * row(const ConvrotWalk & walk, Row r, float * scratch) {
    const float * rows[2];
    sources(walk, r, rows);
    gate_row_simd(Activation::silu, rows[0], rows[1], scratch, walk.nodes[0]->ne[0]);
    return scratch;
}

constexpr ConvrotRule kRule = {GGML_OP_GLU, complete, row, sources};

} // namespace

ggml_ext_status register_swiglu_convrot(ggml_backend_dev_t device, const char * name) {
    return add_convrot_rule(device, name, kRule);
}

} // namespace sd
