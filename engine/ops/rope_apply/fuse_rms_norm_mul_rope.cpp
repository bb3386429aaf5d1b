// RMS_NORM -> MUL(weight [head]) -> rope_apply on the CPU: each row is read once and written once instead of
// three times. The sum of squares is added in the order of the CPU's RMS_NORM kernel and every operation is
// rounded as the nodes round it, so the result has the bits of the three nodes.
#include "ops/common/chain.h"
#include "ops/common/register.h"
#include "ops/common/shape_text.h"
#include "ops/rope_apply/cpu.h"

#include <cstring>

namespace sd {
namespace {

struct NormRope {
    const ggml_tensor *norm, *mul, *rope;
    const ggml_tensor * x() const { return norm->src[0]; }
    const ggml_tensor * weight() const { return mul->src[1]; }
    const ggml_tensor * pe() const { return rope->src[1]; }
};

ggml_ext_op_t rope_apply_of(void * user_data) { return static_cast<ggml_ext_op_t>(user_data); }

bool is_vector(const ggml_tensor * t, int64_t n) {
    return t->ne[0] == n && ggml_nelements(t) == n && is_float_aligned(t) && walks(Steps::unit, t);
}

// Number of nodes that fit, from the first on. The table and the weight must come from outside: a chain that
// multiplies or rotates by its own intermediate is one that the counts of readers alone would not tell.
int fitting(const NormRope & c, ggml_ext_why_t why) {
    if (!is_float_aligned(c.x()) || !walks(Steps::unit, c.x()))
        return ggml_ext_refuse_match(why, 0, "rows of '%s' are not plain floats", c.x()->name);
    if (c.mul->src[0] != c.norm)
        return ggml_ext_refuse_match(why, 1, "'%s' does not multiply '%s'", c.mul->name, c.norm->name);
    if (c.weight() == c.norm || !is_vector(c.weight(), c.x()->ne[0])) {
        return ggml_ext_refuse_match(why, 1, "the weight %s is no vector of %lld floats",
                                     shape_text(c.weight()).c_str(), (long long)c.x()->ne[0]);
    }
    if (c.rope->src[0] != c.mul)
        return ggml_ext_refuse_match(why, 2, "'%s' does not rotate '%s'", c.rope->name, c.mul->name);
    if (c.pe() == c.norm || c.pe() == c.mul)
        return ggml_ext_refuse_match(why, 2, "'%s' rotates by its own input", c.rope->name);
    return 3;
}

int match(ggml_backend_dev_t, const ggml_cgraph * graph, int first, ggml_ext_why_t why, void * self) {
    constexpr ggml_op kOps[] = {GGML_OP_RMS_NORM, GGML_OP_MUL, GGML_OP_CUSTOM};
    if (ggml_ext_match_ops(graph, first, kOps, 3, why) < 3) return 0;
    auto * g = const_cast<ggml_cgraph *>(graph);
    const NormRope chain = {ggml_graph_node(g, first), ggml_graph_node(g, first + 1),
                            ggml_graph_node(g, first + 2)};
    if (ggml_ext_node_op(chain.rope) != rope_apply_of(self))
        return ggml_ext_refuse_match(why, 2, "'%s' is no rope_apply", chain.rope->name);
    return fitting(chain, why) == 3 ? 3 : 0;
}

void optimize(ggml_backend_dev_t, ggml_cgraph * graph, void * self) {
    for (int i = 2; i < ggml_graph_n_nodes(graph); ++i) {
        const ggml_tensor * rope = ggml_graph_node(graph, i);
        if (ggml_ext_node_op(rope) != rope_apply_of(self) || rope->src[0]->op != GGML_OP_MUL) continue;
        const ggml_tensor * mul = rope->src[0];
        if (mul->src[0]->op != GGML_OP_RMS_NORM) continue;
        const NormRope chain = {mul->src[0], mul, rope};
        if (fitting(chain, nullptr) == 3) bring_together(graph, {{chain.norm, chain.mul, chain.rope}, 3}, i);
    }
}

ggml_status execute(const ggml_ext_execute_params * params, void * state, void *) {
    const NormRope chain = {params->step.nodes[0], params->step.nodes[1], params->step.nodes[2]};
    RopeWalk walk = {};
    walk.x = chain.x();
    walk.rope = chain.rope;
    walk.load = load_rotations_simd;
    walk.weight = static_cast<const float *>(chain.weight()->data);
    std::memcpy(&walk.eps, chain.norm->op_params, sizeof(walk.eps));
    walk.row = [](const RopeWalk & w, const RopeRow & row, const Rotations & r) {
        norm_rotate_row_simd(row, w.weight, w.eps, r);
    };
    return run_rope(*params, state, walk);
}

} // namespace

ggml_ext_status register_rms_norm_mul_rope(ggml_backend_dev_t device, ggml_ext_op_t rope_apply,
                                           const char * name) {
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = name;
    desc.op = GGML_OP_RMS_NORM;
    desc.match = match;
    desc.optimize = optimize;
    desc.prepare = prepare_rope;
    desc.execute = execute;
    desc.destroy = destroy_rope;
    desc.user_data = rope_apply;
    return add_kernel(device, desc);
}

} // namespace sd
