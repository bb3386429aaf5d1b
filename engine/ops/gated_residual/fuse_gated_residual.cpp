#include "ops/common/chain.h"
#include "ops/common/cpu.h"
#include "ops/common/output.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "ops/gated_residual/rule.h"

#include <algorithm>

namespace sd {
namespace {

struct Parts {
    const ggml_tensor *mul, *add;

    const ggml_tensor * y() const { return mul->src[0]; }
    const ggml_tensor * gate() const { return mul->src[1]; }
    // Sums do not depend on their order.
    const ggml_tensor * x() const { return add->src[0] == mul ? add->src[1] : add->src[0]; }
    Chain chain() const { return {{mul, add}, 2}; }

    static bool is(const ggml_tensor * add) {
        return add->op == GGML_OP_ADD && (add->src[0]->op == GGML_OP_MUL || add->src[1]->op == GGML_OP_MUL);
    }
    // Of two products the first one is the branch.
    static Parts of(const ggml_tensor * add) {
        return {add->src[0]->op == GGML_OP_MUL ? add->src[0] : add->src[1], add};
    }
};

// Gates: a row or one number for each row, repeated over y in the dimensions 1 to 3.
bool fits(const Parts & parts, ggml_ext_why_t why) {
    for (const ggml_tensor * t : {parts.y(), parts.gate(), parts.x()}) {
        if (!is_float_aligned(t) || !walks(Steps::unit, t)) {
            ggml_ext_refuse_match(why, 1, "rows of '%s', %s, are not plain floats", t->name,
                                  shape_text(t).c_str());
            return false;
        }
        if (!parts.chain().has(t)) continue;
        ggml_ext_refuse_match(why, 1, "'%s' is used twice in the chain", t->name);
        return false;
    }
    const int64_t n = parts.gate()->ne[0];
    if (n != 1 && n != parts.y()->ne[0]) {
        ggml_ext_refuse_match(why, 1, "the gate, %s, repeats within rows", shape_text(parts.gate()).c_str());
        return false;
    }
    if (ggml_are_same_shape(parts.x(), parts.mul) && ggml_are_same_shape(parts.add, parts.mul)) return true;
    ggml_ext_refuse_match(why, 1, "the product is %s and x is %s", shape_text(parts.mul).c_str(),
                          shape_text(parts.x()).c_str());
    return false;
}

int match(ggml_backend_dev_t, const ggml_cgraph * graph, int first, ggml_ext_why_t why, void *) {
    constexpr ggml_op kOps[] = {GGML_OP_MUL, GGML_OP_ADD};
    if (ggml_ext_match_ops(graph, first, kOps, 2, why) < 2) return 0;
    const Parts parts = Parts::of(ggml_graph_node(const_cast<ggml_cgraph *>(graph), first + 1));
    if (!Parts::is(parts.add) || !parts.chain().is_at(graph, first))
        return ggml_ext_refuse_match(why, 1, "'%s' does not add the product", parts.add->name);
    return fits(parts, why) ? 2 : 0;
}

void optimize(ggml_backend_dev_t, ggml_cgraph * graph, void *) {
    for (int i = 1; i < ggml_graph_n_nodes(graph); ++i) {
        const ggml_tensor * add = ggml_graph_node(graph, i);
        if (Parts::is(add) && fits(Parts::of(add), nullptr)) bring_together(graph, Parts::of(add).chain(), i);
    }
}

ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *) {
    prepared->workspace_bytes = Output::scratch_bytes(*params);
    return GGML_STATUS_SUCCESS;
}

// Up to `rows` rows of one plane from row r on.
void compute_rows(const Parts & parts, Row r, int64_t rows, float * out) {
    const ggml_tensor *x = parts.x(), *y = parts.y();
    GatedRows g = {};
    g.x = row_start(x, r);
    g.x_row = float_step(x, 1);
    g.y = row_start(y, r);
    g.y_row = float_step(y, 1);
    g.gate = repeated_row(parts.gate(), r);
    g.gate_step = float_step(parts.gate(), 0);
    g.n = g.out_row = x->ne[0];
    g.out = out + ((r.i3 * x->ne[2] + r.i2) * x->ne[1] + r.i1) * g.n;
    g.rows = int(std::min(rows, x->ne[1] - r.i1));
    gated_rows_simd(g);
}

ggml_status execute(const ggml_ext_execute_params * params, void *, void *) {
    constexpr int64_t kTask = 16384; // elements worth waking a thread for
    const Parts parts = Parts::of(params->step.nodes[1]);
    const ggml_tensor * x = parts.x();
    const Output output(params->step, params->workspace_base);
    const int64_t rows = parts.gate()->ne[1] == 1 ? GatedRows::kMax : 1; // that share a gate
    const int64_t groups = (x->ne[1] + rows - 1) / rows, count = groups * x->ne[2] * x->ne[3];
    const int tasks = int(std::clamp<int64_t>(ggml_nelements(x) / kTask, 1, cpu_threads(params->backend)));
    const ggml_status status = cpu_run(params->backend, tasks, [&](int ith, int nth) {
        const auto [first, last] = part_of(count, ith, nth);
        for (int64_t i = first; i < last; ++i) {
            const int64_t plane = i / groups;
            compute_rows(parts, {i % groups * rows, plane % x->ne[2], plane / x->ne[2]}, rows,
                         static_cast<float *>(output.data()));
        }
    });
    if (status == GGML_STATUS_SUCCESS) output.finish();
    return status;
}

} // namespace

ggml_ext_status register_gated_residual(ggml_backend_dev_t device) {
    if (family_of(device) != Family::cpu) return GGML_EXT_SUCCESS;
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.op = GGML_OP_MUL;
    desc.match = match;
    desc.optimize = optimize;
    desc.prepare = prepare;
    desc.execute = execute;
#define X(rule_name)                                                                                         \
    desc.name = rule_name;                                                                                   \
    if (const ggml_ext_status status = add_kernel(device, desc); status != GGML_EXT_SUCCESS) return status;
#include "ops/gated_residual/fusions.inc"
#undef X
    return GGML_EXT_SUCCESS;
}

} // namespace sd
