// More nodes: between those of the example, around them, and all of them again.
#include "runtime/graph/graph.h"
#include "runtime/ops/build.h"
#include "runtime/tools/fuzz_mutate.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace ggml::tools {
namespace {

// A place behind the first node of the example and not behind its last.
size_t place_between(const FuzzProgram & program, Random & random) {
    const size_t first = program.position(program.example.front()),
                 last = program.position(program.example.back());
    return first + 1 + random.below(last - first);
}

// Something that reads t; null: nothing can.
ggml_tensor * reader_of(FuzzProgram & program, Random & random, ggml_tensor * t) {
    ggml_context * ctx = program.ctx();
    if (t->type == GGML_TYPE_F32 && random.one_in(2)) {
        if (has_padded_rows(t)) return ggml_scale(ctx, t, 1.25f);
        return ggml_sqr(ctx, t);
    }
    return can_be_contiguous(t) ? ggml_cont(ctx, t) : nullptr;
}

// A view of it: its first half, or turned. Null: not of rows that are no whole number of blocks.
ggml_tensor * add_view_of(FuzzProgram & program, Random & random, size_t & at, ggml_tensor * t) {
    if (!can_be_contiguous(t)) return nullptr;
    if (random.one_in(2) || ggml_is_empty(t) || t->nb[0] != ggml_type_size(t->type))
        return add_node(program, at, ggml_transpose(program.ctx(), t));
    Shape ne = shape_of(t);
    for (size_t i = GGML_MAX_DIMS; i-- > 1;) {
        if (ne[i] == 1) continue;
        ne[i] /= 2;
        break;
    }
    return add_window(program, at, t, ne, 0);
}

bool add_around(FuzzProgram & program, Random & random, size_t at, ggml_tensor * node, const char * name) {
    if (node == nullptr) return false;
    add_node(program, at, node);
    ggml_set_name(node, name);
    if (!random.one_in(4)) ggml_set_output(node);
    if (random.one_in(2)) program.anywhere.insert(node);
    return true;
}

ggml_tensor * pick_leaf(FuzzProgram & program, Random & random) {
    std::vector<ggml_tensor *> leafs;
    for (const FuzzLeaf & leaf : program.leafs) {
        if (is_float(leaf.tensor)) leafs.push_back(leaf.tensor);
    }
    return leafs.empty() ? nullptr : random.pick(leafs);
}

} // namespace

// Leafs are shared. Sometimes the second one continues with the result of the first.
bool run_twice(FuzzProgram & program, Random & random, std::string & what) {
    std::unordered_map<const ggml_tensor *, ggml_tensor *> twins;
    const std::vector<ggml_tensor *> once = program.example;
    const bool interleaved = random.one_in(2);
    size_t at = program.position(once.back()) + 1;
    for (ggml_tensor * node : once) {
        ggml_tensor * twin = program.clone(node);
        for (ggml_tensor *& src : twin->src) {
            if (const auto found = twins.find(src); found != twins.end()) src = found->second;
        }
        if (const auto found = twins.find(twin->view_src); found != twins.end())
            twin->view_src = found->second;
        twins[node] = twin;
        if (interleaved) {
            program.insert(program.position(node) + 1, twin);
        } else {
            program.insert(at++, twin);
        }
    }
    what = interleaved ? "a second example, interleaved" : "a second example";
    if (interleaved || !random.one_in(2)) return true;
    ggml_tensor * twin = twins[pick_example_node(program, random)];
    for (ggml_tensor *& src : twin->src) {
        if (program.leaf_of(src) == nullptr || !ggml_are_same_shape(src, once.back())) continue;
        src = once.back();
        what = "a second example that continues the first";
        break;
    }
    return true;
}

// It has nothing to do with the others, but stands between them.
bool put_node_between(FuzzProgram & program, Random & random, std::string & what) {
    if (program.example.size() < 2) return false;
    size_t at = place_between(program, random);
    ggml_context * ctx = program.ctx();
    if (random.one_in(2)) {
        ggml_tensor * leaf = pick_leaf(program, random);
        if (leaf == nullptr) return false;
        what = "an independent node between";
        return add_around(program, random, at, reader_of(program, random, leaf), "between");
    }
    ggml_tensor * own =
        program.add_leaf(GGML_TYPE_F32, {1 + int64_t(random.below(64)), 1, 1, 1}, true).tensor;
    what = "an independent node that works in place between";
    return add_around(program, random, at, ggml_scale_inplace(ctx, own, 0.5f), "between_in_place");
}

// It writes what the example reads, before some of its nodes and after others.
bool put_writer_between(FuzzProgram & program, Random & random, std::string & what) {
    if (program.example.size() < 2) return false;
    const FuzzEdge edge = pick_edge(program, random, false);
    if (edge.node == nullptr) return false;
    ggml_tensor * target = edge.src();
    size_t at = place_between(program, random);
    const bool made = program.leaf_of(target) != nullptr || program.position(target) < at;
    if (!made || !program.is_writable(target) || ggml_is_empty(target)) return false;
    ggml_context * ctx = program.ctx();
    ggml_tensor * writer = nullptr;
    if (target->type == GGML_TYPE_F32 && has_padded_rows(target) && random.one_in(2)) {
        writer = ggml_scale_inplace(ctx, target, 0.5f);
    } else {
        ggml_tensor * other = program.add_leaf(target->type, shape_of(target), true).tensor;
        writer = ggml_cpy(ctx, other, target);
    }
    ggml_set_name(writer, "writer_between");
    add_node(program, at, writer);
    what = std::string("a node between writes '") + target->name + "'";
    return true;
}

bool read_from_outside(FuzzProgram & program, Random & random, std::string & what) {
    ggml_tensor * node = pick_example_node(program, random);
    const size_t made = program.position(node) + 1;
    size_t at = made + random.below(program.order.size() - made + 1);
    const bool through_view = random.one_in(3);
    ggml_tensor * read = through_view ? add_view_of(program, random, at, node) : node;
    if (read == nullptr) return false;
    what = std::string("'") + node->name + "' is also read outside" + (through_view ? " through a view" : "");
    return add_around(program, random, at, reader_of(program, random, read), "outside_reader");
}

bool read_input_again(FuzzProgram & program, Random & random, std::string & what) {
    const FuzzEdge edge = pick_edge(program, random, false);
    if (edge.node == nullptr || !is_float(edge.src())) return false;
    size_t at = program.order.size();
    what = std::string("'") + edge.src()->name + "' is read again afterwards";
    return add_around(program, random, at, reader_of(program, random, edge.src()), "later_reader");
}

} // namespace ggml::tools
