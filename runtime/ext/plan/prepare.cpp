#include "runtime/ext/plan/plan.h"

#include "runtime/backend/interface.h"
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/plan/fingerprint.h"
#include "runtime/ext/workspace/workspace.h"
#include "runtime/ops/inplace.h"

#include <algorithm>

namespace ggml::ext {
namespace {

bool overlaps_an_input(const ggml_ext_step & step) {
    const ggml_tensor * result = step.nodes[step.n_nodes - 1];
    const auto is_internal = [&](const ggml_tensor * t) {
        return std::find(step.nodes, step.nodes + step.n_nodes, t) != step.nodes + step.n_nodes;
    };
    for (int i = 0; i < step.n_nodes; ++i) {
        for (const ggml_tensor * src : step.nodes[i]->src) {
            if (src != nullptr && !is_internal(src) && overlap(result, src) != GGML_EXT_OVERLAP_NONE)
                return true;
        }
    }
    return false;
}

// Before storage is given: the allocator lets a result take over a source only where the operator allows
// that, and never when a source is a fused intermediate, whose readers' order it does not know.
bool output_is_fresh(const ggml_ext_step & step, bool placed) {
    const ggml_tensor * result = step.nodes[step.n_nodes - 1];
    if (placed || is_placed(result)) return !overlaps_an_input(step);
    if (result->view_src != nullptr) return false;
    return step.n_nodes > 1 || !op_can_inplace(result->op);
}

ggml_status prepare_step(Plan & plan, Step & step, const PlanRequest & request, Verdict * why) {
    const ggml_ext_kernel_desc & call = step.kernel->call;
    const ggml_ext_step nodes = plan.nodes_of(step);
    step.fingerprint = fingerprint(nodes);
    if (call.prepare == nullptr) return GGML_STATUS_SUCCESS;
    const ggml_ext_prepare_params params = {sizeof(params), plan.backend, nodes,
                                            output_is_fresh(nodes, request.placed)};
    ggml_ext_prepared prepared = {};
    const ggml_status status = call.prepare(&params, &prepared, call.user_data);
    const char * name = nodes.nodes[nodes.n_nodes - 1]->name;
    if (status != GGML_STATUS_SUCCESS) {
        refuse(why, GGML_EXT_REASON_PREPARE_FAILED, step.first, "%s for '%s': %s", step.kernel->name.c_str(),
               name, ggml_status_to_string(status));
        return status;
    }
    step.state = prepared.state;
    step.prepared = true;
    step.workspace_bytes = prepared.workspace_bytes;
    const size_t most = ggml_backend_buft_get_max_size(request.buft);
    if (Workspace::allocated_bytes(request.buft, step.workspace_bytes) > most) {
        refuse(why, GGML_EXT_REASON_WORKSPACE_ABSURD, step.first,
               "%s for '%s' asks for %zu bytes, a %s buffer has %zu", step.kernel->name.c_str(), name,
               step.workspace_bytes, ggml_backend_buft_name(request.buft), most);
        return GGML_STATUS_ALLOC_FAILED;
    }
    plan.workspace_bytes = std::max(plan.workspace_bytes, step.workspace_bytes);
    return GGML_STATUS_SUCCESS;
}

} // namespace

ggml_status prepare(Plan & plan, const PlanRequest & request, Verdict * why) {
    for (Step & step : plan.steps) {
        if (step.kind == StepKind::native) continue;
        const ggml_status status = prepare_step(plan, step, request, why);
        if (status == GGML_STATUS_SUCCESS) continue;
        plan.release();
        return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::ext
