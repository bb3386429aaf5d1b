#include "runtime/tools/fuzz_program.h"

#include "runtime/ext/effects/effects.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/inplace.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace ggml::tools {
namespace {

// Tensors that an example may create; a context that is full stops the process.
constexpr size_t kExampleTensors = 8 * size_t(FuzzProgram::kMostNodes);

ggml_context_ptr context_for(size_t tensors, size_t graph_size) {
    const size_t bytes = tensors * ggml_tensor_overhead() +
                         (graph_size > 0 ? ggml_graph_overhead_custom(graph_size, false) : 0);
    ggml_context_ptr context(ggml_init({bytes, nullptr, /*no_alloc=*/true}));
    if (context == nullptr) throw std::bad_alloc();
    return context;
}

bool has_storage(const ggml_tensor * t) { return t->data != nullptr || t->buffer != nullptr; }

std::vector<uint8_t> contents_of(const ggml_tensor * t) {
    std::vector<uint8_t> bytes;
    if (!has_storage(t) || !ggml_is_contiguous(t)) return bytes;
    bytes.resize(ggml_nbytes(t));
    ggml_backend_buffer_t buffer = t->view_src != nullptr ? t->view_src->buffer : t->buffer;
    if (buffer != nullptr) {
        ggml_backend_tensor_get(t, bytes.data(), 0, bytes.size());
    } else {
        std::memcpy(bytes.data(), t->data, bytes.size());
    }
    return bytes;
}

// A tensor to be overwritten: constructors refuse shapes that views can have, such as turned quantized rows.
ggml_tensor * blank_tensor(ggml_context * ctx) { return ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1); }

// Copies tensors of the caller, each once.
class Importer {
  public:
    Importer(ggml_context * ctx, FuzzProgram & program) : ctx_(ctx), program_(program) {}

    ggml_tensor * of(const ggml_tensor * t) {
        ggml_tensor *& mine = made_[t];
        if (mine != nullptr) return mine;
        mine = blank_tensor(ctx_);
        ggml_tensor * copy = mine; // the map may move
        ggml_set_name(copy, t->name);
        copy->type = t->type;
        std::copy(t->ne, t->ne + GGML_MAX_DIMS, copy->ne);
        std::copy(t->nb, t->nb + GGML_MAX_DIMS, copy->nb);
        copy->op = t->op;
        copy->flags = t->flags & (GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT | GGML_TENSOR_FLAG_LOSS);
        std::memcpy(copy->op_params, t->op_params, sizeof(t->op_params));
        if (t->op == GGML_OP_NONE) {
            program_.leafs.push_back({copy, has_storage(t), contents_of(t), {}});
            return copy;
        }
        if (t->view_src != nullptr) copy->view_src = of(t->view_src);
        copy->view_offs = t->view_offs;
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            if (t->src[j] != nullptr) copy->src[j] = of(t->src[j]);
        }
        return copy;
    }

  private:
    ggml_context * ctx_;
    FuzzProgram & program_;
    std::unordered_map<const ggml_tensor *, ggml_tensor *> made_;
};

bool half_overwrites_a_source(const ggml_tensor * node) {
    if (node->view_src == nullptr || op_is_metadata_only(node->op)) return false;
    for (int j = 0; j < GGML_MAX_SRC; ++j) {
        const ggml_tensor * src = node->src[j];
        if (src == nullptr || src == node || ext::source_is_destination(node, j)) continue;
        const ggml_ext_overlap shared = ext::overlap(src, node);
        const bool one_by_one = (j == 0 && fuzz_destination(node) == 0) || op_can_inplace(node->op);
        if (shared == GGML_EXT_OVERLAP_PARTIAL || (shared == GGML_EXT_OVERLAP_EXACT && !one_by_one))
            return true;
    }
    return false;
}

} // namespace

ggml_tensor * fuzz_root(ggml_tensor * t) {
    while (t->view_src != nullptr) t = t->view_src;
    return t;
}

ggml_tensor * fuzz_origin(ggml_tensor * t) {
    const auto moves = [](ggml_op op) {
        return op == GGML_OP_CONT || op == GGML_OP_DUP || op == GGML_OP_CPY;
    };
    for (t = fuzz_root(t); moves(t->op);) t = fuzz_root(t->src[0]);
    return t;
}

int fuzz_destination(const ggml_tensor * node) {
    for (int j = 0; j < GGML_MAX_SRC; ++j) {
        if (ext::source_is_destination(node, j)) return j;
    }
    return 0;
}

FuzzSignature::Operand FuzzSignature::operand_of(const ggml_tensor * t) {
    if (t == nullptr) return {};
    return {true, ggml_is_contiguous(t), t->type, shape_of(t)};
}

FuzzSignature FuzzSignature::of(const ggml_tensor * node) {
    FuzzSignature s;
    s.result = operand_of(node);
    for (size_t j = 0; j < GGML_MAX_SRC; ++j) s.sources[j] = operand_of(node->src[j]);
    return s;
}

bool FuzzSignature::same_sources(const ggml_tensor * node) const {
    for (size_t j = 0; j < GGML_MAX_SRC; ++j) {
        if (!(sources[j] == operand_of(node->src[j]))) return false;
    }
    return true;
}

std::unique_ptr<FuzzProgram> FuzzProgram::of_example(ggml_ext_build_t build, void * user_data,
                                                     ext::Verdict & why) {
    ggml_context_ptr theirs = context_for(kExampleTensors, 0);
    ggml_tensor * result = build(theirs.get(), user_data);
    if (result == nullptr) {
        ext::refuse(&why, GGML_EXT_REASON_NULL_ARGUMENT, -1, "the builder returned no result");
        return nullptr;
    }
    ggml_context_ptr graph_ctx = context_for(0, 2 * kExampleTensors);
    ggml_cgraph * graph = ggml_new_graph_custom(graph_ctx.get(), 2 * kExampleTensors, false);
    build_forward(graph, result);
    if (graph->n_nodes == 0 || graph->n_nodes > kMostNodes) {
        ext::refuse(&why, GGML_EXT_REASON_MATCH_LENGTH, -1,
                    "the example has %d nodes, between 1 and %d are possible", graph->n_nodes, kMostNodes);
        return nullptr;
    }
    std::unique_ptr<FuzzProgram> program(new FuzzProgram);
    program->ctx_ = context_for(2 * kExampleTensors, 0);
    Importer import(program->ctx(), *program);
    for (int i = 0; i < graph->n_nodes; ++i) {
        ggml_tensor * node = import.of(graph->nodes[i]);
        if (node->op == GGML_OP_NONE) continue; // a parameter
        program->insert(program->order.size(), node);
    }
    program->example = program->order;
    return program;
}

FuzzLeaf & FuzzProgram::add_leaf(ggml_type type, const Shape & ne, bool placed) {
    ggml_tensor * t = ggml_new_tensor(ctx(), type, GGML_MAX_DIMS, ne.data());
    ggml_format_name(t, "added_leaf_%zu", leafs.size());
    return leafs.emplace_back(FuzzLeaf{t, placed, {}, {}});
}

FuzzLeaf * FuzzProgram::leaf_of(const ggml_tensor * t) {
    const auto found =
        std::find_if(leafs.begin(), leafs.end(), [t](const FuzzLeaf & l) { return l.tensor == t; });
    return found == leafs.end() ? nullptr : &*found;
}

void FuzzProgram::insert(size_t at, ggml_tensor * node) {
    order.insert(order.begin() + ptrdiff_t(at), node);
    signatures_[node] = FuzzSignature::of(node);
}

size_t FuzzProgram::position(const ggml_tensor * node) const {
    return size_t(std::find(order.begin(), order.end(), node) - order.begin());
}

ggml_tensor * FuzzProgram::clone(const ggml_tensor * node) {
    ggml_tensor * copy = blank_tensor(ctx());
    *copy = *node; // which has no storage either
    ggml_format_name(copy, "%s (again)", node->name);
    if (node->op == GGML_OP_CPY && node->src[1] == node) copy->src[1] = copy;
    return copy;
}

bool FuzzProgram::is_writable(const ggml_tensor * t) {
    const ggml_tensor * root = fuzz_root(const_cast<ggml_tensor *>(t));
    if (root->type != GGML_TYPE_F32 && root->type != GGML_TYPE_F16 && root->type != GGML_TYPE_BF16)
        return false;
    const FuzzLeaf * leaf = leaf_of(root);
    // What lies in an input that the scheduler placed is lost after its last reader.
    return leaf == nullptr || leaf->placed;
}

bool FuzzProgram::settle_leafs() {
    for (FuzzLeaf & leaf : leafs) {
        Strides nb;
        ggml_tensor * t = leaf.tensor;
        if (!contiguous_strides(t->type, shape_of(t), nb) || ggml_nelements(t) > kMostElements) return false;
        std::copy(nb.begin(), nb.end(), t->nb);
        if (leaf.contents.size() != ggml_nbytes(t)) leaf.contents.clear();
    }
    return true;
}

bool FuzzProgram::comes_after_sources(const ggml_tensor * node,
                                      const std::unordered_set<const ggml_tensor *> & done) {
    const auto known = [&](const ggml_tensor * t) {
        return t == nullptr || t == node || done.count(t) != 0 || leaf_of(t) != nullptr;
    };
    return known(node->view_src) && std::all_of(node->src, node->src + GGML_MAX_SRC, known);
}

bool FuzzProgram::settle() {
    if (!settle_leafs()) return false;
    std::unordered_set<const ggml_tensor *> done;
    for (ggml_tensor * node : order) {
        if (!fuzz_infer(node, signatures_[node]) || !comes_after_sources(node, done)) return false;
        if (ggml_nelements(node) > kMostElements || half_overwrites_a_source(node)) return false;
        done.insert(node);
    }
    return true;
}

} // namespace ggml::tools
