#include "tests/runtime/alloc/byte_interpreter.h"

#include "runtime/graph/graph.h"

#include <cstring>

namespace ggml::test {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

uint64_t hash_bytes(const ggml_tensor * t) {
    const auto * bytes = static_cast<const uint8_t *>(t->data);
    uint64_t hash = uint64_t(t->ne[0]);
    for (int64_t i = 0; i < t->ne[0]; ++i) hash = mix(hash, bytes[i]);
    return hash;
}

void write_pattern(uint8_t * bytes, int64_t n, uint64_t hash) {
    for (int64_t i = 0; i < n; ++i) bytes[i] = uint8_t(mix(hash, uint64_t(i)) >> 32);
}

ggml_tensor * owner_of(ggml_tensor * t) { return t->view_src != nullptr ? t->view_src : t; }

} // namespace

ByteGraph::ByteGraph(uint32_t seed, const ByteGraphOptions & options) : random_(seed), options_(options) {
    for (int i = 0; i < options.n_leafs; ++i) {
        tensors_.push_back(m_.leaf(int64_t(random_() % 4 * 50)));
        if (random_() % 2 == 0) ggml_set_input(tensors_.back());
    }
    graph_ = ggml_new_graph_custom(m_.ctx(), 1024, false);
    for (int i = 0; i < options.n_nodes; ++i) add_random_node();
    ggml_build_forward_expand(graph_, tensors_.back());
    if (options.skips) choose_skipped();
}

ggml_tensor * ByteGraph::any() {
    // Mostly recent tensors, so that most of them die early.
    const size_t reach = random_() % 4 == 0 ? tensors_.size() : std::min<size_t>(tensors_.size(), 5);
    return tensors_[tensors_.size() - 1 - random_() % reach];
}

void ByteGraph::add_random_node() {
    static constexpr ggml_op kOps[] = {GGML_OP_ADD, GGML_OP_MUL, GGML_OP_SQR, GGML_OP_SCALE, GGML_OP_CUSTOM};
    ggml_tensor *a = any(), *b = any(), *t = nullptr;
    const ggml_op op = kOps[random_() % std::size(kOps)];
    switch (random_() % 10) {
    case 0:
    case 1: {
        const int64_t offset = a->ne[0] == 0 ? 0 : int64_t(random_()) % a->ne[0];
        t = m_.view(a, (a->ne[0] - offset + 1) / 2, size_t(offset));
        break;
    }
    case 2: t = m_.view(a, a->ne[0]); break;
    case 3:
        // Writing over an input would make running twice impossible; over a constant it is a mistake.
        if (options_.writers && owner_of(a)->op != GGML_OP_NONE) {
            t = m_.write_over(a, GGML_OP_CPY, {b, a});
            break;
        }
        [[fallthrough]];
    default:
        t = m_.node(op, op == GGML_OP_SQR || op == GGML_OP_SCALE ? std::vector{a} : std::vector{a, b},
                    random_() % 3 == 0 ? int64_t(random_() % 200) : a->ne[0]);
    }
    if (random_() % 12 == 0 && owner_of(t)->op != GGML_OP_NONE) ggml_set_output(t);
    tensors_.push_back(t);
    // In order of creation: writers and readers of the same storage keep their order.
    ggml_build_forward_expand(graph_, t);
}

// Nodes whose results only other nodes of the graph see.
void ByteGraph::choose_skipped() {
    std::set<const ggml_tensor *> visible;
    for (ggml_tensor * t : tensors_) {
        if ((t->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 || use_count(graph_, t) == 0)
            visible.insert(owner_of(t));
    }
    for (ggml_tensor * t : tensors_) {
        if (t->op == GGML_OP_NONE || t->view_src != nullptr || visible.count(t) != 0) continue;
        if (random_() % 3 != 0) continue;
        skipped_.push_back(t);
        skip_set_.insert(t);
    }
}

bool ByteGraph::is_skipped(const ggml_tensor * t) const {
    return skip_set_.count(t->view_src != nullptr ? t->view_src : t) != 0;
}

void ByteGraph::give_separate_storage() {
    for (ggml_tensor * t : tensors_) {
        if (t->view_src == nullptr) {
            storage_.emplace_back(size_t(t->ne[0]) + 1);
            t->data = storage_.back().data();
        }
    }
    for (ggml_tensor * t : tensors_) {
        if (t->view_src != nullptr) t->data = static_cast<uint8_t *>(t->view_src->data) + t->view_offs;
    }
}

void ByteGraph::fill_leafs() const {
    for (int i = 0; i < graph_->n_leafs; ++i) {
        ggml_tensor * t = graph_->leafs[i];
        write_pattern(static_cast<uint8_t *>(t->data), t->ne[0], uint64_t(i) + 1);
    }
}

// What a skipped node stands for is computed by its reader, from sources that must still be there.
uint64_t ByteGraph::value_of(const ggml_tensor * t) const {
    if (!is_skipped(t)) return hash_bytes(t);
    std::vector<uint8_t> bytes;
    const ggml_tensor * owner = t->view_src != nullptr ? t->view_src : t;
    bytes.resize(size_t(owner->ne[0]) + 1);
    write_pattern(bytes.data(), owner->ne[0], hash_of_sources(owner));
    ggml_tensor shown = *t;
    shown.data = bytes.data() + t->view_offs;
    return hash_bytes(&shown);
}

uint64_t ByteGraph::hash_of_sources(const ggml_tensor * node) const {
    uint64_t hash = uint64_t(node->op);
    for (const ggml_tensor * src : node->src) {
        if (src != nullptr) hash = mix(hash, value_of(src));
    }
    return hash;
}

std::vector<uint64_t> ByteGraph::run() const {
    std::vector<uint64_t> results;
    for (int i = 0; i < graph_->n_nodes; ++i) {
        ggml_tensor * node = graph_->nodes[i];
        if (op_is_metadata_only(node->op) || is_skipped(node)) continue;
        const uint64_t hash = hash_of_sources(node);
        write_pattern(static_cast<uint8_t *>(node->data), node->ne[0], hash);
        results.push_back(hash);
    }
    for (int i = 0; i < graph_->n_nodes; ++i) {
        const ggml_tensor * t = graph_->nodes[i];
        const bool result = use_count(graph_, t) == 0 || (t->flags & GGML_TENSOR_FLAG_OUTPUT) != 0;
        if (result && !is_skipped(t)) results.push_back(hash_bytes(t));
    }
    return results;
}

} // namespace ggml::test
