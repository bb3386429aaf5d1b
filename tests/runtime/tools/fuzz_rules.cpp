#include "tests/runtime/tools/fuzz_rules.h"

#include "ggml-cpu.h"
#include "runtime/tools/host_copy.h"
#include "tests/support/test_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ggml::test {
namespace {

const ggml_tensor * node_at(const ggml_cgraph * graph, int i) {
    return ggml_graph_node(const_cast<ggml_cgraph *>(graph), i);
}

bool all_f32(const ggml_cgraph * graph, int first, int n, ggml_ext_why_t why) {
    for (int i = first; i < first + n; ++i) {
        const ggml_tensor * node = node_at(graph, i);
        bool f32 = node->type == GGML_TYPE_F32;
        for (const ggml_tensor * src : node->src) f32 = f32 && (src == nullptr || src->type == GGML_TYPE_F32);
        if (!f32) return ggml_ext_refuse(why, "node %d is not all f32", i);
    }
    return true;
}

// The operand of a two-operand node that is not `inner`; null: both are, or none.
const ggml_tensor * other_operand(const ggml_tensor * node, const ggml_tensor * inner) {
    if (node->src[0] == inner && node->src[1] != inner) return node->src[1];
    return node->src[1] == inner && node->src[0] != inner ? node->src[0] : nullptr;
}

// first -> second [-> copy], the second one's other operand being whatever; the shapes of both the same.
int match_chain(const ggml_cgraph * graph, int first, const std::vector<ggml_op> & ops, ggml_ext_why_t why) {
    const int n = ggml_ext_match_ops(graph, first, ops.data(), int(ops.size()), why);
    if (n < int(ops.size())) return 0;
    if (!all_f32(graph, first, n, why)) return 0;
    const ggml_tensor *inner = node_at(graph, first), *outer = node_at(graph, first + 1);
    const ggml_tensor * other = other_operand(outer, inner);
    if (other == nullptr || !ggml_are_same_shape(inner, outer))
        return ggml_ext_refuse_match(why, 1, "the first node is not one whole operand of the second");
    for (const ggml_tensor * view = other; view != nullptr; view = view->view_src) {
        if (view == inner) return ggml_ext_refuse_match(why, 1, "both operands are the first node");
    }
    if (n == 3 && (node_at(graph, first + 2)->src[0] != outer ||
                   !ggml_are_same_shape(outer, node_at(graph, first + 2))))
        return ggml_ext_refuse_match(why, 2, "the copy is of something else or changes the shape");
    return n;
}

struct Chain {
    Elements out, a, b, c;
    bool inner_is_first; // of the outer node's operands
};

// Where a faulty rule reads its summand.
float summand(const ChainRule & rule, const Chain & chain, const int64_t * i, int64_t number) {
    if (rule.fault == ChainRule::full_operand) return chain.c.dense(number);
    if (rule.fault == ChainRule::row_operand) return chain.c.dense(i[0]);
    return chain.c.repeated(i);
}

float combine(const ChainRule & rule, bool inner_is_first, float product, float c) {
    if (!rule.minus) return product + c;
    return inner_is_first || rule.fault == ChainRule::swapped_operands ? product - c : c - product;
}

void compute_chain(const ChainRule & rule, const Chain & chain) {
    std::vector<float> products, results;
    for_each_element(chain.out.layout, [&](const int64_t * i, int64_t number) {
        const bool dense = rule.fault == ChainRule::dense_operands;
        products.push_back((dense ? chain.a.dense(number) : chain.a.repeated(i)) * chain.b.repeated(i));
    });
    const auto store = [&](const Elements & to, const std::vector<float> & values) {
        for_each_element(chain.out.layout,
                         [&](const int64_t * i, int64_t number) { to.repeated(i) = values[size_t(number)]; });
    };
    if (rule.fault == ChainRule::scratch) store(chain.a, products);
    if (rule.fault == ChainRule::unsafe_alias) store(chain.out, products);
    for_each_element(chain.out.layout, [&](const int64_t * i, int64_t number) {
        const float product = products[size_t(number)];
        float result = combine(rule, chain.inner_is_first, product, summand(rule, chain, i, number));
        if (rule.fault == ChainRule::forgets_nan && std::isnan(result)) result = 0;
        results.push_back(result);
    });
    store(chain.out, results);
}

bool reads(const ggml_tensor * node, const ggml_tensor * t) {
    return std::find(node->src, node->src + GGML_MAX_SRC, t) != node->src + GGML_MAX_SRC;
}

// Looks at edges, and not at who writes what.
void move_products(ggml_cgraph * graph) {
    ggml_tensor ** nodes = ggml_graph_nodes(graph);
    for (int i = 0; i + 2 < ggml_graph_n_nodes(graph); ++i) {
        if (nodes[i]->op != GGML_OP_MUL || reads(nodes[i + 1], nodes[i]) || !reads(nodes[i + 2], nodes[i]))
            continue;
        std::swap(nodes[i], nodes[i + 1]);
    }
}

void delay_products(ggml_cgraph * graph) {
    for (int i = 0; i + 2 < ggml_graph_n_nodes(graph); ++i) {
        const ggml_tensor * node = ggml_graph_node(graph, i);
        if (node->op == GGML_OP_MUL && reads(ggml_graph_node(graph, i + 2), node))
            (void)ggml_ext_graph_delay(graph, i, 1, i + 1);
    }
}

// The rule for `op`, then + c, where the first node is f of its operand.
KernelKit unary_add_rule(const char * name, ggml_op op, std::function<float(const ggml_tensor &, float)> f) {
    KernelKit kit;
    kit.name = name;
    kit.op = op;
    kit.match = [op](const ggml_cgraph * graph, int first, ggml_ext_why_t why) {
        return match_chain(graph, first, {op, GGML_OP_ADD}, why);
    };
    kit.execute = [f](const ggml_ext_execute_params & params, void *) {
        const ggml_tensor *inner = params.step.nodes[0], *outer = params.step.nodes[1];
        return on_elements(params, {outer, inner->src[0], other_operand(outer, inner)},
                           [f, node = *inner](const std::vector<Elements> & e) {
                               std::vector<float> results;
                               for_each_element(e[0].layout, [&](const int64_t * i, int64_t) {
                                   results.push_back(f(node, e[1].repeated(i)) + e[2].repeated(i));
                               });
                               for_each_element(e[0].layout, [&](const int64_t * i, int64_t number) {
                                   e[0].repeated(i) = results[size_t(number)];
                               });
                           });
    };
    return kit;
}

Gain gain_of(const ggml_tensor & node) {
    Gain gain;
    std::memcpy(&gain, ggml_ext_node_attrs(&node), sizeof(gain));
    return gain;
}

} // namespace

float & Elements::repeated(const int64_t * i) const {
    size_t offset = 0;
    for (int d = 0; d < GGML_MAX_DIMS; ++d) offset += size_t(i[d] % layout.ne[d]) * layout.nb[d];
    return *reinterpret_cast<float *>(base + offset);
}

float & Elements::dense(int64_t i) const {
    // Not beyond the tensor's own memory: only the values are to be wrong.
    const auto last = int64_t(ggml_nbytes(&layout) / sizeof(float)) - 1;
    return reinterpret_cast<float *>(base)[std::min(i, last)];
}

void for_each_element(const ggml_tensor & shape, const std::function<void(const int64_t *, int64_t)> & fn) {
    int64_t number = 0;
    int64_t i[GGML_MAX_DIMS];
    for (i[3] = 0; i[3] < shape.ne[3]; ++i[3]) {
        for (i[2] = 0; i[2] < shape.ne[2]; ++i[2]) {
            for (i[1] = 0; i[1] < shape.ne[1]; ++i[1]) {
                for (i[0] = 0; i[0] < shape.ne[0]; ++i[0]) fn(i, number++);
            }
        }
    }
}

ggml_status on_elements(const ggml_ext_execute_params & params,
                        const std::vector<const ggml_tensor *> & tensors,
                        std::function<void(const std::vector<Elements> &)> fn) {
    const bool cpu = ggml_backend_is_cpu(params.backend);
    std::vector<Elements> elements;
    for (const ggml_tensor * t : tensors) {
        elements.push_back({*t, static_cast<char *>(cpu ? t->data : real_address(t))});
    }
    if (cpu) {
        fn(elements);
    } else {
        enqueue(params.backend, [fn, elements] { fn(elements); });
    }
    return GGML_STATUS_SUCCESS;
}

KernelKit chain_rule(const char * name, const ChainRule & rule) {
    KernelKit kit;
    kit.name = name;
    kit.op = GGML_OP_MUL;
    std::vector<ggml_op> ops = {GGML_OP_MUL, rule.minus ? GGML_OP_SUB : GGML_OP_ADD};
    if (rule.copied) ops.push_back(GGML_OP_CPY);
    kit.match = [ops](const ggml_cgraph * graph, int first, ggml_ext_why_t why) {
        return match_chain(graph, first, ops, why);
    };
    kit.optimize = rule.fault == ChainRule::wrong_order ? move_products : delay_products;
    kit.execute = [rule](const ggml_ext_execute_params & params, void *) {
        const ggml_ext_step & step = params.step;
        const ggml_tensor *inner = step.nodes[0], *outer = step.nodes[1];
        const bool inner_is_first = outer->src[0] == inner;
        return on_elements(
            params, {step.nodes[step.n_nodes - 1], inner->src[0], inner->src[1], other_operand(outer, inner)},
            [rule, inner_is_first](const std::vector<Elements> & e) {
                compute_chain(rule, {e[0], e[1], e[2], e[3], inner_is_first});
            });
    };
    return kit;
}

KernelKit scale_add_rule(const char * name, bool ignores_bias) {
    return unary_add_rule(name, GGML_OP_SCALE, [ignores_bias](const ggml_tensor & node, float x) {
        float params[2];
        std::memcpy(params, node.op_params, sizeof(params));
        return x * params[0] + (ignores_bias ? 0.0f : params[1]);
    });
}

KernelKit dense_product_kernel(const char * name) {
    KernelKit kit;
    kit.name = name;
    kit.op = GGML_OP_MUL;
    kit.supports = [](const ggml_tensor * node, ggml_ext_why_t why) {
        for (const ggml_tensor * t : {node, static_cast<const ggml_tensor *>(node->src[0]),
                                      static_cast<const ggml_tensor *>(node->src[1])}) {
            if (t->type != GGML_TYPE_F32 || !ggml_are_same_shape(t, node))
                return ggml_ext_refuse(why, "not all f32 of one shape");
        }
        return true;
    };
    kit.execute = [](const ggml_ext_execute_params & params, void *) {
        const ggml_tensor * node = params.step.nodes[0];
        return on_elements(params, {node, node->src[0], node->src[1]}, [](const std::vector<Elements> & e) {
            for (int64_t i = 0; i < e[0].count(); ++i) e[0].dense(i) = e[1].dense(i) * e[2].dense(i);
        });
    };
    return kit;
}

ggml_ext_op_t gain_op() {
    OpKit op;
    op.name = "fuzzed.gain.v1";
    op.attr_size = sizeof(Gain);
    return add_op(op);
}

KernelKit gain_kernel() {
    KernelKit kit;
    kit.name = "fuzzed.gain";
    kit.op = GGML_OP_CUSTOM;
    kit.custom_op = gain_op();
    kit.supports = [](const ggml_tensor * node, ggml_ext_why_t) {
        return node->type == GGML_TYPE_F32 && node->src[0]->type == GGML_TYPE_F32;
    };
    kit.execute = [](const ggml_ext_execute_params & params, void *) {
        const ggml_tensor * node = params.step.nodes[0];
        return on_elements(params, {node, node->src[0]},
                           [gain = gain_of(*node)](const std::vector<Elements> & e) {
                               for_each_element(e[0].layout, [&](const int64_t * i, int64_t) {
                                   e[0].repeated(i) = e[1].repeated(i) * gain.factor + gain.offset;
                               });
                           });
    };
    return kit;
}

KernelKit gain_add_rule(const char * name, bool ignores_offset) {
    KernelKit kit = unary_add_rule(name, GGML_OP_CUSTOM, [ignores_offset](const ggml_tensor & node, float x) {
        const Gain gain = gain_of(node);
        return x * gain.factor + (ignores_offset ? 0.0f : gain.offset);
    });
    kit.custom_op = gain_op();
    return kit;
}

ggml_status run_as_written(const ggml_ext_execute_params & params) {
    ggml_backend_synchronize(params.backend);
    tools::Mirror mirror(params.step);
    const ggml_status status = mirror.compute();
    if (status != GGML_STATUS_SUCCESS) return status;
    ggml_tensor * result = params.step.nodes[params.step.n_nodes - 1];
    tools::write_bytes(result, tools::read_bytes(mirror.of(result)));
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::test
