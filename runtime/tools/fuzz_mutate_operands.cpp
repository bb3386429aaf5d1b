// Operands that lie elsewhere, have other strides or another shape, or are another value.
#include "runtime/tools/fuzz_mutate.h"

#include <algorithm>

namespace ggml::tools {
namespace {

bool is_placed_leaf(FuzzProgram & program, const ggml_tensor * t) {
    const FuzzLeaf * leaf = program.leaf_of(t);
    return leaf == nullptr || leaf->placed;
}

std::string place(const FuzzEdge & edge) {
    return "source " + std::to_string(edge.j) + " of '" + edge.node->name + "'";
}

// All readers of a leaf, or one of them.
void replace(FuzzProgram & program, Random & random, const FuzzEdge & edge, ggml_tensor * by) {
    ggml_tensor * before = edge.src();
    if (random.one_in(2)) {
        edge.src() = by;
        return;
    }
    for (ggml_tensor * node : program.example) {
        for (ggml_tensor *& src : node->src) {
            if (src == before && program.position(node) >= program.position(edge.node)) src = by;
        }
    }
}

} // namespace

bool stride_operand(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, !random.one_in(3));
    if (edge.node == nullptr) return false;
    const ggml_tensor * src = edge.src();
    const int64_t block = ggml_blck_size(src->type);
    Shape larger = shape_of(src);
    larger[0] += block * int64_t(1 + random.below(3));
    larger[1] += int64_t(random.below(2));
    larger[2] += int64_t(random.below(2));
    if (ggml_is_empty(src) || !can_be_contiguous(src) ||
        larger[0] * larger[1] * larger[2] * larger[3] > FuzzProgram::kMostElements)
        return false;
    const bool placed = is_placed_leaf(program, src);
    ggml_tensor * whole = program.add_leaf(src->type, larger, placed).tensor;
    size_t at = program.position(edge.node);
    const size_t blocks = random.below(2); // where the window starts
    what = place(edge) + " is a window of a larger tensor";
    replace(program, random, edge, add_window(program, at, whole, shape_of(src), blocks));
    return true;
}

bool permute_operand(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, !random.one_in(3));
    if (edge.node == nullptr) return false;
    const ggml_tensor * src = edge.src();
    static constexpr int kSwaps[][2] = {{0, 1}, {0, 1}, {1, 2}, {0, 2}, {2, 3}};
    const auto & swap = random.pick(kSwaps);
    std::array<int, GGML_MAX_DIMS> axes = {0, 1, 2, 3};
    std::swap(axes[size_t(swap[0])], axes[size_t(swap[1])]);
    Shape ne;
    for (size_t i = 0; i < GGML_MAX_DIMS; ++i) ne[i] = src->ne[axes[i]];
    if (ne[0] % ggml_blck_size(src->type) != 0 || (swap[0] == 0 && ggml_is_quantized(src->type)))
        return false;
    const bool placed = is_placed_leaf(program, src);
    ggml_tensor * turned = program.add_leaf(src->type, ne, placed).tensor;
    size_t at = program.position(edge.node);
    what = place(edge) + " is permuted";
    replace(program, random, edge,
            add_node(program, at, ggml_permute(program.ctx(), turned, axes[0], axes[1], axes[2], axes[3])));
    return true;
}

bool broadcast_operand(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, false);
    if (edge.node == nullptr) return false;
    const ggml_tensor * src = edge.src();
    Shape ne = shape_of(src);
    std::vector<size_t> wide;
    for (size_t i = 0; i < GGML_MAX_DIMS; ++i) {
        if (ne[i] > 1 && (i > 0 || ggml_blck_size(src->type) == 1)) wide.push_back(i);
    }
    if (wide.empty() || !can_be_contiguous(src)) return false;
    const size_t dim = random.pick(wide);
    ne[dim] = ne[dim] % 2 == 0 && random.one_in(4) ? ne[dim] / 2 : 1;
    if (random.one_in(4) && ggml_blck_size(src->type) == 1) ne = {1, 1, 1, 1};
    const bool placed = is_placed_leaf(program, src);
    what = place(edge) + " is smaller and repeats";
    replace(program, random, edge, program.add_leaf(src->type, ne, placed).tensor);
    return true;
}

// The reverse: an operand gets another row, or as many as its neighbour has.
bool widen_operand(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, true);
    if (edge.node == nullptr) return false;
    const ggml_tensor *src = edge.src(), *other = edge.node->src[edge.j == 0 ? 1 : 0];
    Shape ne = shape_of(src);
    if (other != nullptr && ggml_blck_size(src->type) == 1 && random.one_in(2)) ne = shape_of(other);
    const size_t dim = 1 + random.below(3);
    if (ne == shape_of(src)) ne[dim] = ne[dim] == 0 ? 1 : ne[dim] * int64_t(2 + random.below(2));
    if (ne[0] % ggml_blck_size(src->type) != 0) return false;
    if (ne[0] * ne[1] * ne[2] * ne[3] > FuzzProgram::kMostElements) return false;
    const bool placed = is_placed_leaf(program, src);
    what = place(edge) + " is larger";
    replace(program, random, edge, program.add_leaf(src->type, ne, placed).tensor);
    return true;
}

// Then its storage is the allocator's, and ends with its last reader.
bool compute_operand(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, true);
    if (edge.node == nullptr || !is_float(edge.src())) return false;
    size_t at = program.position(program.example.front());
    ggml_tensor * src = edge.src();
    ggml_tensor * made = src->type == GGML_TYPE_F32 && random.one_in(2)
                             ? ggml_scale(program.ctx(), src, 0.75f)
                             : ggml_cont(program.ctx(), src);
    ggml_set_name(made, "made_before");
    what = place(edge) + " is computed";
    replace(program, random, edge, add_node(program, at, made));
    return true;
}

bool repeat_operand(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, false);
    if (edge.node == nullptr) return false;
    std::vector<ggml_tensor *> others;
    const auto add = [&](ggml_tensor * t) {
        if (t != nullptr && t != edge.src() && t->type == edge.src()->type && ggml_can_repeat(t, edge.src()))
            others.push_back(t);
    };
    for (ggml_tensor * src : edge.node->src) add(src);
    for (size_t i = 0; i < program.position(edge.node); ++i) {
        add(program.order[i]);
        for (ggml_tensor * src : program.order[i]->src) add(src);
    }
    if (others.empty()) return false;
    ggml_tensor * other = random.pick(others);
    what = place(edge) + " is '" + other->name + "'";
    edge.src() = other;
    return true;
}

bool swap_operands(FuzzProgram & program, Random & random, std::string & what) {
    ggml_tensor * node = pick_example_node(program, random);
    if (node->src[0] == nullptr || node->src[1] == nullptr || fuzz_destination(node) != 0) return false;
    if (node->src[1] == node || node->src[0] == node->src[1]) return false;
    std::swap(node->src[0], node->src[1]);
    what = std::string("operands of '") + node->name + "' are swapped";
    return true;
}

} // namespace ggml::tools
