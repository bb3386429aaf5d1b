// Registered kernels and fusion rules, split by split: reordering, selection, preparation. All of it happens
// before storage is given, so that fused intermediates get none and measuring sees what running will need.
#include "runtime/sched/sched.h"

#include "runtime/alloc/gallocr.h"
#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/base/trace.h"

#include <algorithm>

namespace ggml::sched {
namespace {

// Individual operations are wanted by whoever looks at them, and by graphs that overlap in time.
bool may_fuse(const Scheduler & s) { return s.n_copies == 1 && s.callback == nullptr; }

size_t extension_steps(const ext::Plan & plan) {
    return size_t(std::count_if(plan.steps.begin(), plan.steps.end(),
                                [](const ext::Step & step) { return step.kernel != nullptr; }));
}

// Of the splits before this one; nobody needs it where steps are not limited.
size_t steps_before(const Scheduler & s, const Split & split) {
    if (s.policy.most_steps == SIZE_MAX) return 0;
    const size_t end = split.plan < 0 ? s.plans.size() : size_t(split.plan);
    size_t sum = 0;
    for (size_t i = 0; i < end; ++i) sum += extension_steps(s.plans[i]->plan);
    return sum;
}

ext::PlanRequest request_for(Scheduler & s, Split & split, ext::PlanLog * log) {
    ext::PlanRequest request;
    request.backend = s.backends[size_t(split.backend)];
    request.buft = s.bufts[size_t(split.backend)];
    request.graph = &split.graph;
    request.policy = &s.policy;
    request.fuse = may_fuse(s);
    request.steps_before = steps_before(s, split);
    request.log = log;
    return request;
}

// Storage was given for one and will do for the other.
bool same_fusion(const ext::Plan & a, const ext::Plan & b) {
    return a.n_fused_away == b.n_fused_away &&
           std::equal(a.skipped.begin(), a.skipped.begin() + ptrdiff_t(a.n_fused_away), b.skipped.begin());
}

TraceWords words_for(const char * what, const ext::PlanRequest & request) {
    return {what, ggml_backend_name(request.backend), nullptr, request.graph->n_nodes};
}

void choose_steps(ext::Plan & plan, const ext::PlanRequest & request) {
    const TraceScope scope("plan", [&] { return words_for("select", request); });
    ext::select(plan, request);
}

ggml_status prepare_steps(ext::Plan & plan, const ext::PlanRequest & request, ext::Verdict * why) {
    const TraceScope scope("plan", [&] { return words_for("prepare", request); });
    return ext::prepare(plan, request, why);
}

bool plan_split(Scheduler & s, Split & split, ext::PlanLog * log) {
    const ext::PlanRequest request = request_for(s, split, log);
    ext::freeze(request.backend->device, ext::Frozen::graph_allocation);
    ext::optimize(request);
    auto planned = std::make_unique<SplitPlan>(request);
    choose_steps(planned->plan, request);
    s.skipped.insert(s.skipped.end(), planned->plan.skipped.begin(), planned->plan.skipped.end());
    if (!planned->plan.has_extensions) return true;
    ext::Verdict why;
    if (prepare_steps(planned->plan, request, &why) != GGML_STATUS_SUCCESS) {
        if (s.dry_run) return log->failure = std::move(why), true;
        GGML_LOG_ERROR("scheduler: %s\n", why.message().c_str());
        return false;
    }
    split.plan = int(s.plans.size());
    s.plans.push_back(std::move(planned));
    return true;
}

} // namespace

void drop_plans(Scheduler & s) {
    if (s.plans.empty()) return;
    // Work that uses prepared state may still be queued.
    if (s.in_flight) wait_for_all(s);
    while (!s.plans.empty()) s.plans.pop_back();
}

bool make_plans(Scheduler & s, ggml_cgraph * graph) {
    s.skipped.clear();
    s.order.assign(graph->nodes, graph->nodes + graph->n_nodes);
    if (s.logs != nullptr) s.logs->assign(s.splits.size(), {});
    for (size_t i = 0; i < s.splits.size(); ++i) {
        Split & split = s.splits[i];
        split.graph = graph_view(graph, split.begin, split.end - split.begin);
        split.graph.nodes = s.order.data() + split.begin;
        split.graph.uid = next_graph_uid();
        if (!plan_split(s, split, s.logs != nullptr ? &(*s.logs)[i] : nullptr)) return false;
    }
    alloc::set_skipped(s.galloc, s.skipped.data(), s.skipped.size());
    return true;
}

bool renew_plan(Scheduler & s, Split & split) {
    SplitPlan & old = *s.plans[size_t(split.plan)];
    ggml_backend_synchronize(s.backends[size_t(split.backend)]);
    ext::PlanRequest request = request_for(s, split, nullptr);
    request.placed = true;
    request.fuse = s.n_copies == 1 && old.plan.n_fused_away > 0;
    auto renewed = std::make_unique<SplitPlan>(request);
    choose_steps(renewed->plan, request);
    if (!same_fusion(renewed->plan, old.plan)) {
        GGML_LOG_ERROR("scheduler: %s (%s)\n", ggml_ext_reason_text(GGML_EXT_REASON_PLAN_STALE),
                       ggml_ext_reason_name(GGML_EXT_REASON_PLAN_STALE));
        return false;
    }
    ext::Verdict why;
    if (prepare_steps(renewed->plan, request, &why) != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("scheduler: %s\n", why.message().c_str());
        return false;
    }
    s.plans[size_t(split.plan)] = std::move(renewed);
    return reserve_workspaces(s);
}

size_t workspace_bytes(const Scheduler & s, int backend) {
    size_t most = 0;
    for (const Split & split : s.splits) {
        if (split.backend != backend || split.plan < 0) continue;
        most = std::max(most, s.plans[size_t(split.plan)]->plan.workspace_bytes);
    }
    return most;
}

bool reserve_workspaces(Scheduler & s) {
    for (int b = 0; b < s.n_backends; ++b) {
        auto & workspace = s.workspaces[size_t(b)];
        const size_t bytes = workspace_bytes(s, b);
        if (bytes == 0 || (workspace != nullptr && workspace->bytes() >= bytes)) continue;
        if (s.in_flight) wait_for_all(s);
        workspace.reset(); // before the larger one, which may need its room
        ext::Verdict why;
        workspace = ext::Workspace::allocate(s.bufts[size_t(b)], bytes, &why);
        if (workspace == nullptr) {
            GGML_LOG_ERROR("scheduler: %s\n", why.message().c_str());
            return false;
        }
    }
    return true;
}

} // namespace ggml::sched
