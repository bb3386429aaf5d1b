#include "runtime/ext/run/run.h"

#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/base/trace.h"

#include <algorithm>

namespace ggml::ext {
namespace {

ggml_status report(ggml_status status, Verdict verdict, Verdict * why) {
    GGML_LOG_ERROR("ggml_ext: %s\n", verdict.message().c_str());
    if (why != nullptr) *why = std::move(verdict);
    return status;
}

ggml_status run_native(const Plan & plan, const Step & step, int first, int n, Verdict * why) {
    ggml_cgraph range = graph_view(const_cast<ggml_cgraph *>(&plan.graph), first, n);
    // A part of the range is another graph to the device, and one that need not be remembered.
    range.uid = n == step.n ? step.uid : 0;
    const TraceScope scope("step", [&]() -> TraceWords {
        return {"native", ggml_backend_name(plan.backend), nullptr, n};
    });
    const ggml_status status = plan.backend->iface.graph_compute(plan.backend, &range);
    if (status == GGML_STATUS_SUCCESS) return status;
    Verdict verdict;
    refuse(&verdict, status == GGML_STATUS_ABORTED ? GGML_EXT_REASON_ABORTED : GGML_EXT_REASON_NATIVE_FAILED,
           first, "%d nodes from '%s' on, by %s itself: %s", n, range.nodes[0]->name,
           ggml_backend_name(plan.backend), ggml_status_to_string(status));
    return report(status, std::move(verdict), why);
}

ggml_status run_extension(const Plan & plan, const Step & step, const Workspace * workspace, RunMode mode,
                          Verdict * why) {
    const ggml_ext_kernel_desc & call = step.kernel->call;
    ggml_ext_execute_params params = {sizeof(params), plan.backend, plan.nodes_of(step), nullptr, nullptr, 0};
    if (step.workspace_bytes > 0) {
        GGML_ASSERT(workspace != nullptr && workspace->bytes() >= step.workspace_bytes);
        params.workspace = workspace->buffer();
        params.workspace_base = ggml_backend_buffer_get_base(params.workspace);
        params.workspace_bytes = step.workspace_bytes;
    }
    const TraceScope scope("step", [&]() -> TraceWords {
        return {call.name, ggml_backend_name(plan.backend), params.step.nodes[step.n - 1]->name, step.n};
    });
    ggml_status status = call.execute(&params, step.state, call.user_data);
    ggml_ext_reason reason =
        status == GGML_STATUS_ABORTED ? GGML_EXT_REASON_ABORTED : GGML_EXT_REASON_EXECUTE_FAILED;
    if (status == GGML_STATUS_SUCCESS) {
        if (workspace == nullptr || !workspace->guarded() || mode == RunMode::recording) return status;
        ggml_backend_synchronize(plan.backend);
        if (workspace->guards_intact()) return status;
        status = GGML_STATUS_FAILED;
        reason = GGML_EXT_REASON_WORKSPACE_OVERRUN;
    }
    Verdict verdict;
    const ggml_tensor * result = params.step.nodes[step.n - 1];
    refuse(&verdict, reason, step.first, "%s for '%s' (%d nodes) on %s: %s", step.kernel->name.c_str(),
           result->name, step.n, ggml_backend_name(plan.backend), ggml_status_to_string(status));
    return report(status, std::move(verdict), why);
}

ggml_status run_nodes(const Plan & plan, const Workspace * workspace, int first, int n, RunMode mode,
                      Verdict * why) {
    const int end = first + n;
    for (const Step & step : plan.steps) {
        const int from = std::max(first, step.first), to = std::min(end, step.first + step.n);
        if (from >= to) continue;
        GGML_ASSERT(step.kind == StepKind::native || to - from == step.n);
        const ggml_status status = step.kind == StepKind::native
                                       ? run_native(plan, step, from, to - from, why)
                                       : run_extension(plan, step, workspace, mode, why);
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace

ggml_status run_range(const Plan & plan, const Workspace * workspace, int first, int n, Verdict * why) {
    return run_nodes(plan, workspace, first, n, RunMode::ordinary, why);
}

ggml_status run(const Plan & plan, const Workspace * workspace, Verdict * why, RunMode mode) {
    return run_nodes(plan, workspace, 0, plan.graph.n_nodes, mode, why);
}

} // namespace ggml::ext
