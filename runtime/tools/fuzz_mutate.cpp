#include "runtime/tools/fuzz_mutate.h"

#include "runtime/ext/effects/effects.h"

namespace ggml::tools {

std::span<const FuzzMutation> fuzz_mutations() {
    static constexpr FuzzMutation kAll[] = {
        resize,
        retype,
        put_special_values,
        stride_operand,
        permute_operand,
        broadcast_operand,
        widen_operand,
        compute_operand,
        repeat_operand,
        swap_operands,
        change_parameters,
        work_in_place,
        put_view_on_edge,
        copy_result,
        copy_result_over_input,
        copy_result_beside_input,
        mark_output,
        run_twice,
        put_node_between,
        put_writer_between,
        read_from_outside,
        read_input_again,
    };
    return kAll;
}

FuzzEdge pick_edge(FuzzProgram & program, Random & random, bool leafs) {
    std::vector<FuzzEdge> edges;
    for (ggml_tensor * node : program.example) {
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            const ggml_tensor * src = node->src[j];
            if (src == nullptr || src == node || ext::source_is_destination(node, j)) continue;
            if (!leafs || program.leaf_of(src) != nullptr) edges.push_back({node, j});
        }
    }
    return edges.empty() ? FuzzEdge{} : random.pick(edges);
}

ggml_tensor * pick_example_node(FuzzProgram & program, Random & random) {
    return random.pick(program.example);
}

ggml_tensor * add_node(FuzzProgram & program, size_t & at, ggml_tensor * node) {
    program.insert(at++, node);
    return node;
}

ggml_tensor * add_window(FuzzProgram & program, size_t & at, ggml_tensor * from, const Shape & ne,
                         size_t element) {
    return add_node(program, at,
                    ggml_view_4d(program.ctx(), from, ne[0], ne[1], ne[2], ne[3], from->nb[1], from->nb[2],
                                 from->nb[3], element * ggml_type_size(from->type)));
}

bool is_float(const ggml_tensor * t) {
    return t->type == GGML_TYPE_F32 || t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_BF16;
}

bool can_be_contiguous(const ggml_tensor * t) { return t->ne[0] % ggml_blck_size(t->type) == 0; }

} // namespace ggml::tools
