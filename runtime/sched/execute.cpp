// Executing one split: by its backend as it is, by its plan, or piece by piece for an evaluation callback.
#include "runtime/sched/sched.h"

#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/base/trace.h"
#include "runtime/ext/run/run.h"

namespace ggml::sched {
namespace {

SplitPlan * plan_of(const Scheduler & s, const Split & split) {
    return split.plan < 0 ? nullptr : s.plans[size_t(split.plan)].get();
}

const ext::Workspace * workspace_of(const Scheduler & s, const Split & split) {
    return s.workspaces[size_t(split.backend)].get();
}

bool has_workspace(const Scheduler & s, const Split & split, const ext::Plan & plan) {
    const ext::Workspace * workspace = workspace_of(s, split);
    return plan.workspace_bytes == 0 || (workspace != nullptr && workspace->bytes() >= plan.workspace_bytes);
}

ggml_status execute_part(const Scheduler & s, Split & split, int first, int n) {
    ggml_backend_t backend = s.backends[size_t(split.backend)];
    ggml_status status = GGML_STATUS_SUCCESS;
    if (const SplitPlan * planned = plan_of(s, split)) {
        status = ext::run_range(planned->plan, workspace_of(s, split), first, n, nullptr);
    } else {
        ggml_cgraph part = graph_view(&split.graph, first, n);
        status = backend->iface.graph_compute(backend, &part);
    }
    ggml_backend_synchronize(backend);
    return status;
}

// A callback that has seen enough may remove itself.
bool asks_for(const Scheduler & s, ggml_tensor * node) {
    return s.callback != nullptr && s.callback(node, /*ask=*/true, s.callback_data);
}

// Nodes nobody asked to see run together up to and including the next one somebody did.
ggml_status execute_observed(const Scheduler & s, Split & split) {
    ggml_tensor ** nodes = split.graph.nodes;
    for (int first = 0; first < split.graph.n_nodes;) {
        int last = first;
        bool wanted = asks_for(s, nodes[last]);
        while (!wanted && last + 1 < split.graph.n_nodes) wanted = asks_for(s, nodes[++last]);
        const ggml_status status = execute_part(s, split, first, last + 1 - first);
        if (status != GGML_STATUS_SUCCESS) return status;
        const bool shown = wanted && s.callback != nullptr;
        if (shown && !s.callback(nodes[last], /*ask=*/false, s.callback_data)) return GGML_STATUS_ABORTED;
        first = last + 1;
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status execute_watched(const Scheduler & s, const Split & split, const ext::Plan & plan) {
    for (const ext::Step & step : plan.steps) {
        const bool shown = step.kind != ext::StepKind::native;
        ggml_backend_synchronize(plan.backend);
        if (shown && !s.observer->before(plan, step)) return GGML_STATUS_ABORTED;
        const ggml_status status =
            ext::run_range(plan, workspace_of(s, split), step.first, step.n, &s.observer->why);
        ggml_backend_synchronize(plan.backend);
        if (status != GGML_STATUS_SUCCESS) return status;
        if (shown && !s.observer->after(plan, step)) return GGML_STATUS_ABORTED;
    }
    return GGML_STATUS_SUCCESS;
}

bool is_fused(const ext::Plan & plan) {
    for (const ext::Step & step : plan.steps) {
        if (step.kind == ext::StepKind::fusion) return true;
    }
    return false;
}

ggml_status refuse_callback() {
    GGML_LOG_ERROR("scheduler: %s (%s)\n", ggml_ext_reason_text(GGML_EXT_REASON_CALLBACK_AFTER_FUSION),
                   ggml_ext_reason_name(GGML_EXT_REASON_CALLBACK_AFTER_FUSION));
    return GGML_STATUS_FAILED;
}

} // namespace

ext::Verdict replay_miss(const Scheduler & s, const Split & split) {
    ext::Verdict miss;
    const SplitPlan * planned = plan_of(s, split);
    if (planned == nullptr) {
        ext::refuse(&miss, GGML_EXT_REASON_REPLAY_NATIVE_SPLIT, -1, "%d nodes, all by %s itself",
                    split.graph.n_nodes, ggml_backend_name(s.backends[size_t(split.backend)]));
    } else if (s.callback != nullptr) {
        ext::refuse(&miss, GGML_EXT_REASON_REPLAY_OFF, -1, "an evaluation callback looks at single nodes");
    } else {
        miss = planned->replay.last_miss();
    }
    return miss;
}

ggml_status execute_split(Scheduler & s, Split & split) {
    if (SplitPlan * planned = plan_of(s, split)) {
        if (!ext::is_current(planned->plan) && !renew_plan(s, split)) return GGML_STATUS_FAILED;
    }
    SplitPlan * planned = plan_of(s, split);
    // A plan that was made again may have found no room for its workspace; there may be some now.
    if (planned != nullptr && !has_workspace(s, split, planned->plan) && !reserve_workspaces(s))
        return GGML_STATUS_ALLOC_FAILED;
    const TraceScope scope(planned != nullptr ? "split" : "step", [&]() -> TraceWords {
        const char * name = planned != nullptr ? "steps" : "native";
        return {name, ggml_backend_name(s.backends[size_t(split.backend)]), nullptr, split.graph.n_nodes};
    });
    if (s.observer != nullptr && planned != nullptr) return execute_watched(s, split, planned->plan);
    if (s.callback != nullptr) {
        return planned != nullptr && is_fused(planned->plan) ? refuse_callback() : execute_observed(s, split);
    }
    ggml_backend_t backend = s.backends[size_t(split.backend)];
    if (planned == nullptr) return backend->iface.graph_compute(backend, &split.graph);
    // Several copies mean other addresses each time.
    const bool replay = s.policy.replay && s.n_copies == 1;
    return planned->replay.run(planned->plan, s.workspaces[size_t(split.backend)], replay, nullptr);
}

} // namespace ggml::sched
