#include "tests/runtime/ext/effects/aliasing_graph.h"

#include "ggml-cpu.h"
#include "runtime/graph/graph.h"
#include "tests/support/op_check.h"

#include <cstring>
#include <gtest/gtest.h>

namespace ggml::test {
namespace {

constexpr int64_t kSide = 8;

void copy_elements(ggml_tensor * dst, const ggml_tensor * a, int ith, int, void *) {
    if (ith == 0) std::memcpy(dst->data, a->data, ggml_nbytes(dst));
}

// Numbers of both signs that stay small when multiplied.
void fill_with_numbers(void * data, size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < n; ++i) {
        const float value = float(random() % 2001) / 1000.0f - 1.0f;
        std::memcpy(static_cast<char *>(data) + i * sizeof(value), &value, sizeof(value));
    }
}

void run_node(ggml_cgraph * graph, int i) {
    ggml_cgraph one = graph_view(graph, i, 1);
    ggml_cplan plan = ggml_graph_plan(&one, 1, nullptr);
    plan.use_ref = true;
    Bytes work(plan.work_size + 1);
    plan.work_data = work.data();
    ASSERT_EQ(ggml_graph_compute(&one, &plan), GGML_STATUS_SUCCESS) << graph->nodes[i]->name;
}

} // namespace

AliasingGraph::AliasingGraph(uint32_t seed, int n_nodes)
    : owned_ctx_(ggml_init({1u << 20, nullptr, /*no_alloc=*/true})), ctx_(owned_ctx_.get()),
      graph_(ggml_new_graph_custom(ctx_, 512, false)), random_(seed) {
    for (int i = 0; i < 3; ++i) values_.push_back(ggml_new_tensor_2d(ctx_, GGML_TYPE_F32, kSide, kSide));
    row_numbers_ = ggml_new_tensor_1d(ctx_, GGML_TYPE_I64, kSide);
    for (int i = 0; i < n_nodes; ++i) {
        ggml_tensor * t = make();
        values_.push_back(t);
        if (below(12) == 0) ggml_set_output(t);
        // In order of creation, so that writers and readers of the same storage have an order.
        if (below(16) == 0) {
            ggml_build_forward_order(graph_, t);
        } else {
            ggml_build_forward_expand(graph_, t);
        }
    }
    for (ggml_tensor * t = ggml_get_first_tensor(ctx_); t != nullptr; t = ggml_get_next_tensor(ctx_, t)) {
        index_[t] = tensors_.size();
        tensors_.push_back(t);
    }
}

// Recent values more often: then short chains are frequent, and most values are read once.
ggml_tensor * AliasingGraph::any() {
    const size_t reach = below(4) == 0 ? values_.size() : std::min<size_t>(values_.size(), 3);
    return values_[values_.size() - 1 - below(reach)];
}

ggml_tensor * AliasingGraph::any_like(const ggml_tensor * tensor) {
    for (int tries = 0; tries < 8; ++tries) {
        ggml_tensor * t = any();
        if (ggml_are_same_shape(t, tensor)) return t;
    }
    return const_cast<ggml_tensor *>(tensor);
}

ggml_tensor * AliasingGraph::any_full() {
    for (;;) {
        ggml_tensor * t = below(6) == 0 ? values_[below(3)] : any();
        if (ggml_nelements(t) == kSide * kSide) return t;
    }
}

// The left or right half of the columns, every other row, or a window that overlaps all of these.
ggml_tensor * AliasingGraph::part_of(ggml_tensor * full) {
    const size_t half = kSide / 2 * full->nb[0], row = full->nb[1];
    switch (below(5)) {
    case 0: return ggml_view_2d(ctx_, full, kSide / 2, kSide, row, 0);
    case 1: return ggml_view_2d(ctx_, full, kSide / 2, kSide, row, half);
    case 2: return ggml_view_2d(ctx_, full, kSide, kSide / 2, 2 * row, 0);
    case 3: return ggml_view_2d(ctx_, full, kSide, kSide / 2, 2 * row, row);
    default: return ggml_view_2d(ctx_, full, kSide / 2, kSide, row, half / 2);
    }
}

// A tensor without edges that shows another one, which must be computed for there to be something to show.
ggml_tensor * AliasingGraph::shown(ggml_tensor * tensor) {
    const ggml_tensor * owner = tensor->view_src != nullptr ? tensor->view_src : tensor;
    const bool computed = (tensor->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 &&
                          (owner->op == GGML_OP_NONE || (owner->flags & GGML_TENSOR_FLAG_COMPUTE) != 0);
    return computed ? ggml_view_tensor(ctx_, tensor) : tensor;
}

ggml_tensor * AliasingGraph::overwrite(ggml_tensor * target) {
    ggml_tensor * other = any_like(target);
    switch (below(6)) {
    case 0: return ggml_scale_inplace(ctx_, target, 0.75f);
    case 1: return ggml_add_inplace(ctx_, target, other);
    case 2: return ggml_mul_inplace(ctx_, target, other);
    case 3: return ggml_cpy(ctx_, other, target);
    case 4: return ggml_cpy(ctx_, ggml_scale(ctx_, other, 0.5f), target);
    default:
        if (target->ne[1] != kSide) return ggml_silu_inplace(ctx_, target);
        return ggml_set_rows(ctx_, target, ggml_cont(ctx_, other), row_numbers_);
    }
}

ggml_tensor * AliasingGraph::make() {
    ggml_tensor * a = any();
    switch (below(16)) {
    case 0: return ggml_add(ctx_, a, any_like(a));
    case 1: return ggml_mul(ctx_, a, any_like(a));
    case 2: return ggml_sub(ctx_, a, shown(any_like(a)));
    case 3: return ggml_scale(ctx_, a, 0.5f);
    case 4: return ggml_cont(ctx_, a);
    case 5: return ggml_cont(ctx_, ggml_transpose(ctx_, any_full()));
    case 6: return ggml_cast(ctx_, ggml_cast(ctx_, a, GGML_TYPE_F16), GGML_TYPE_F32);
    case 7: return part_of(any_full());
    case 8: return ggml_scale(ctx_, part_of(any_full()), 0.5f);
    case 9: return overwrite(part_of(any_full()));
    case 10: return overwrite(ggml_scale(ctx_, a, 0.9f));
    case 11: return overwrite(overwrite(ggml_add(ctx_, a, any_like(a))));
    case 12:
    case 13: return overwrite(a);
    case 14: return ggml_add(ctx_, overwrite(ggml_cont(ctx_, a)), any_like(a));
    default:
        if (below(3) != 0) return ggml_add(ctx_, ggml_scale(ctx_, a, 0.5f), a);
        return ggml_map_custom1(ctx_, ggml_cont(ctx_, a), copy_elements, 1, nullptr);
    }
}

void AliasingGraph::place_apart() {
    for (ggml_tensor * t : tensors_) {
        if (t->view_src != nullptr) continue;
        storage_.emplace_back(ggml_nbytes(t));
        fill_with_numbers(storage_.back().data(), storage_.back().size() / sizeof(float), 99);
        move_storage(t, storage_.back().data());
    }
}

void AliasingGraph::fill_leafs() const {
    for (size_t i = 0; i < 3; ++i) {
        if (values_[i]->data != nullptr) fill_with_numbers(values_[i]->data, kSide * kSide, uint32_t(i));
    }
    if (row_numbers_->data == nullptr) return;
    const int64_t rows[kSide] = {3, 1, 7, 0, 2, 6, 4, 5};
    std::memcpy(row_numbers_->data, rows, sizeof(rows));
}

void AliasingGraph::move_storage(ggml_tensor * owner, void * data) const {
    owner->data = data;
    for (ggml_tensor * t : tensors_) {
        if (t->view_src == owner) t->data = static_cast<char *>(data) + t->view_offs;
    }
}

void AliasingGraph::run(int first, int n) {
    for (int i = first; i < first + n; ++i) {
        const ggml_tensor * node = graph_->nodes[i];
        if (op_is_metadata_only(node->op) || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) continue;
        run_node(graph_, i);
        results_[index_of(node)] = read_bytes(node);
    }
}

} // namespace ggml::test
