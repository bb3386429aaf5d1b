#include "runtime/tools/audit_trial.h"

#include "runtime/backend/interface.h"
#include "runtime/ext/effects/effects.h"
#include "runtime/graph/graph.h"

#include <algorithm>
#include <cstring>

namespace ggml::tools {
namespace {

// NaN in every float format, and no valid index.
constexpr uint8_t kPoison = 0xff;

// Of the first graph; the others take what it needed.
constexpr size_t kMostTensors = 16384;

void poison(ggml_tensor * t) {
    if (t->view_src != nullptr || t->buffer == nullptr || t->data == nullptr || ggml_nbytes(t) == 0) return;
    if (ggml_backend_buffer_get_usage(t->buffer) != GGML_BACKEND_BUFFER_USAGE_COMPUTE) return;
    ggml_backend_tensor_memset(t, kPoison, 0, ggml_nbytes(t));
}

size_t count_tensors(ggml_context * ctx) {
    size_t n = 0;
    for (ggml_tensor * t = ggml_get_first_tensor(ctx); t != nullptr; t = ggml_get_next_tensor(ctx, t)) ++n;
    return n;
}

} // namespace

bool Finding::stop(ext::Verdict && why) {
    verdict = std::move(why);
    carried_out = false;
    return false;
}

Trial::~Trial() {
    if (sched_ != nullptr && graph_ != nullptr) poison_tensors();
    sched_.reset();
    bury();
}

void Trial::bury() {
    ctx_.reset();
    graph_ = nullptr;
    result_ = nullptr;
    if (memory_ == nullptr) return;
    std::memset(memory_.get(), 0, request_.arena->used);
    request_.arena->old.push_back(std::move(memory_));
}

bool Trial::build(Finding & finding) {
    Arena & arena = *request_.arena;
    memory_bytes_ = arena.used != 0 ? arena.used
                                    : kMostTensors * ggml_tensor_overhead() +
                                          ggml_graph_overhead_custom(kMostTensors, false);
    arena.old.reserve(arena.old.size() + 2); // burying is no time to run out of memory
    memory_.reset(new char[memory_bytes_]);
    ctx_.reset(ggml_init({memory_bytes_, memory_.get(), /*no_alloc=*/true}));
    result_ = ctx_ != nullptr ? request_.build(ctx_.get(), request_.user_data) : nullptr;
    if (result_ == nullptr) {
        ext::Verdict why;
        ext::refuse(&why, GGML_EXT_REASON_NULL_ARGUMENT, -1, "the builder gave no result");
        return finding.stop(std::move(why));
    }
    graph_ = ggml_new_graph_custom(ctx_.get(), count_tensors(ctx_.get()) + 1, false);
    build_forward(graph_, result_);
    arena.used = std::max(arena.used, ggml_used_mem(ctx_.get()));
    inputs_.clear();
    for (int i = 0; i < graph_->n_leafs; ++i) {
        ggml_tensor * leaf = graph_->leafs[i];
        if (!ext::is_placed(leaf) && leaf->view_src == nullptr) inputs_.push_back(leaf);
    }
    return true;
}

// Left to itself the scheduler would compute where the inputs lie.
void Trial::pin() {
    ggml_backend_t backend = request_.backend;
    for (ggml_tensor * input : inputs_) ggml_backend_sched_set_tensor_backend(sched_.get(), input, backend);
    for (int i = 0; i < graph_->n_nodes; ++i) {
        ggml_tensor * node = graph_->nodes[i];
        if (ext::effects_of(node).runs_code && ggml_backend_supports_op(backend, node))
            ggml_backend_sched_set_tensor_backend(sched_.get(), node, backend);
    }
}

bool Trial::allocate(Finding & finding) {
    pin();
    if (!ggml_backend_sched_alloc_graph(sched_.get(), graph_)) {
        ext::Verdict why;
        ext::refuse(&why, GGML_EXT_REASON_NOT_ALLOCATED, -1, "%s could not allocate the graph of %d nodes",
                    ggml_backend_name(request_.backend), graph_->n_nodes);
        return finding.stop(std::move(why));
    }
    leafs_.emplace(graph_);
    return true;
}

bool Trial::make(Finding & finding) {
    if (!build(finding)) return false;
    ggml_backend_t backends[] = {request_.backend, request_.cpu};
    sched_.reset(ggml_backend_sched_new(backends, nullptr, request_.cpu != nullptr ? 2 : 1,
                                        size_t(graph_->n_nodes), /*parallel=*/false, /*op_offload=*/false));
    if (sched_ == nullptr) {
        ext::Verdict why;
        ext::refuse(&why, GGML_EXT_REASON_NO_MEMORY, -1, "no scheduler");
        return finding.stop(std::move(why));
    }
    sched_->policy.replay = replay_;
    sched_->policy.disabled = request_.disabled;
    return allocate(finding);
}

bool Trial::plan_again(Finding & finding) {
    ggml_backend_sched_synchronize(sched_.get());
    sched::restore_sources(*sched_);
    ggml_backend_sched_reset(sched_.get());
    // What the allocator gave is given again.
    for (ggml_tensor * t = ggml_get_first_tensor(ctx_.get()); t != nullptr;
         t = ggml_get_next_tensor(ctx_.get(), t)) {
        const ggml_tensor * owner = ext::storage_owner(t);
        const bool is_input = std::find(inputs_.begin(), inputs_.end(), owner) != inputs_.end();
        if (owner->op == GGML_OP_NONE && !is_input) continue;
        t->data = nullptr;
        t->buffer = nullptr;
    }
    return allocate(finding);
}

bool Trial::build_again(Finding & finding) {
    ggml_backend_sched_synchronize(sched_.get());
    ggml_backend_sched_reset(sched_.get());
    bury();
    return build(finding) && allocate(finding);
}

bool Trial::run(Fill fill, Finding & finding) {
    poison_tensors(); // what nobody writes must not pass for the last execution's
    for (size_t i = 0; i < inputs_.size(); ++i) fill_input(inputs_[i], graph_, int(i), fill);
    const ggml_status status = ggml_backend_sched_graph_compute(sched_.get(), graph_);
    if (status == GGML_STATUS_SUCCESS) {
        values_ = read_bytes(result_);
        leafs_->restore();
        return true;
    }
    leafs_->restore();
    for (const sched::SplitPlan * planned : plans()) {
        const ext::Verdict & why = planned->replay.last_miss();
        if (why.reason != GGML_EXT_REASON_REPLAY_CAPTURE_FAILED &&
            why.reason != GGML_EXT_REASON_REPLAY_FAILED)
            continue;
        finding.verdict = why; // ordinary executions do succeed
        return false;
    }
    ext::Verdict why;
    ext::refuse(&why, GGML_EXT_REASON_EXECUTE_FAILED, -1, "with %s: %s", fill_name(fill),
                ggml_status_to_string(status));
    return finding.stop(std::move(why));
}

void Trial::poison_workspaces() {
    for (const auto & workspace : sched_->workspaces) {
        if (workspace == nullptr) continue;
        // Only what kernels may use: what lies behind it may be watched.
        ggml_tensor bytes = {};
        bytes.type = GGML_TYPE_I8;
        bytes.ne[0] = int64_t(workspace->bytes());
        std::fill(bytes.ne + 1, bytes.ne + GGML_MAX_DIMS, 1);
        bytes.nb[0] = 1;
        std::fill(bytes.nb + 1, bytes.nb + GGML_MAX_DIMS, workspace->bytes());
        bytes.buffer = workspace->buffer();
        bytes.data = ggml_backend_buffer_get_base(bytes.buffer);
        ggml_backend_tensor_memset(&bytes, kPoison, 0, workspace->bytes());
    }
}

void Trial::poison_tensors() {
    ggml_backend_sched_synchronize(sched_.get());
    for (int i = 0; i < graph_->n_nodes; ++i) poison(graph_->nodes[i]);
    for (ggml_tensor * t : inputs_) poison(t);
    for (ggml_tensor * t : sched_->copies) poison(t);
}

std::vector<sched::SplitPlan *> Trial::plans() {
    std::vector<sched::SplitPlan *> plans;
    for (const auto & planned : sched_->plans) {
        if (planned->plan.backend == request_.backend) plans.push_back(planned.get());
    }
    return plans;
}

bool Trial::is_reusable() {
    const auto all = plans();
    return std::all_of(all.begin(), all.end(), [](auto * planned) { return planned->plan.replay_reusable; });
}

ext::Verdict Trial::miss() {
    for (const sched::SplitPlan * planned : plans()) {
        if (planned->replay.last_miss().refused()) return planned->replay.last_miss();
    }
    return {};
}

} // namespace ggml::tools
