#include "ops/common/register.h"
#include "ops/common/shape_text.h"
#include "ops/quantize_i8_convrot/cpu.h"
#include "ops/quantize_i8_convrot/schema.h"

#include <algorithm>

namespace sd {
namespace {

const ConvrotRule & rule_of(void * user_data) { return *static_cast<const ConvrotRule *>(user_data); }

// Number of the first quantize_i8_convrot that a chain from `first` on may end in; -1: there is none.
int quantize_behind(ggml_cgraph * graph, int first) {
    const int end = std::min(ggml_graph_n_nodes(graph), first + Chain::kMax);
    for (int i = first + 1; i < end; ++i) {
        if (is_packed_rows(ggml_graph_node(graph, i))) return i;
    }
    return -1;
}

int match(ggml_backend_dev_t, const ggml_cgraph * graph, int first, ggml_ext_why_t why, void * self) {
    auto * g = const_cast<ggml_cgraph *>(graph);
    const char * name = ggml_graph_node(g, first)->name;
    const int last = quantize_behind(g, first);
    if (last < 0) return ggml_ext_refuse_match(why, 1, "no quantize_i8_convrot soon behind '%s'", name);
    Chain chain = {{ggml_graph_node(g, last)}, 1};
    if (!is_sound(chain.last(), why) || !rule_of(self).complete(chain, why)) return 0;
    if (!chain.is_at(graph, first))
        return ggml_ext_refuse_match(why, 1, "'%s' is not where the chain begins", name);
    return chain.n;
}

void optimize(ggml_backend_dev_t, ggml_cgraph * graph, void * self) {
    for (int i = 1; i < ggml_graph_n_nodes(graph); ++i) {
        Chain chain = {{ggml_graph_node(graph, i)}, 1};
        if (is_packed_rows(chain.last()) && rule_of(self).complete(chain, nullptr))
            bring_together(graph, chain, i);
    }
}

ggml_status execute(const ggml_ext_execute_params * params, void * state, void * self) {
    const ggml_ext_step & step = params->step;
    return run_convrot(*params, state,
                       {step.nodes, step.nodes[step.n_nodes - 1], rotate_quantize_simd, rule_of(self).row,
                        rule_of(self).sources});
}

} // namespace

ggml_ext_status add_convrot_rule(ggml_backend_dev_t device, const char * name, const ConvrotRule & rule,
                                 ggml_ext_op_t op) {
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = name;
    desc.op = rule.op;
    desc.custom_op = op;
    desc.match = match;
    desc.optimize = optimize;
    desc.prepare = prepare_convrot;
    desc.execute = execute;
    desc.destroy = destroy_convrot;
    desc.user_data = const_cast<ConvrotRule *>(&rule);
    return add_kernel(device, desc);
}

bool is_rows_input(const Chain & chain, const ggml_tensor * t, ggml_ext_why_t why) {
    if (!is_float_aligned(t) || !walks(Steps::unit, t)) {
        ggml_ext_refuse_match(why, 1, "rows of '%s', %s, are not plain floats", t->name,
                              shape_text(t).c_str());
        return false;
    }
    if (!chain.has(t)) return true;
    ggml_ext_refuse_match(why, 1, "'%s' is used twice in the chain", t->name);
    return false;
}

bool is_repeated_input(const Chain & chain, const ggml_tensor * t, const ggml_tensor * x,
                       ggml_ext_why_t why) {
    if (!is_rows_input(chain, t, why)) return false;
    if (t->ne[0] == x->ne[0] && ggml_can_repeat(t, x)) return true;
    ggml_ext_refuse_match(why, 1, "'%s', %s, is no row for each of %s", t->name, shape_text(t).c_str(),
                          shape_text(x).c_str());
    return false;
}

} // namespace sd
