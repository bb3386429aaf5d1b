#include "runtime/ext/plan/plan.h"

#include "runtime/backend/interface.h"
#include "runtime/ext/plan/fingerprint.h"

namespace ggml::ext {

Plan::Plan(const PlanRequest & request)
    : backend(request.backend), graph(*request.graph), kernels(kernels_of(request.backend->device)) {}

// States of later steps may refer to those of earlier ones.
Plan::~Plan() { release(); }

void Plan::release() {
    for (size_t i = steps.size(); i-- > 0;) {
        Step & step = steps[i];
        if (step.prepared && step.kernel->call.destroy != nullptr) {
            step.kernel->call.destroy(step.state, step.kernel->call.user_data);
        }
        step.prepared = false;
    }
}

bool is_current(const Plan & plan) {
    if (plan.kernels != kernels_of(plan.backend->device)) return false;
    for (const Step & step : plan.steps) {
        if (step.kind != StepKind::native && step.fingerprint != fingerprint(plan.nodes_of(step)))
            return false;
    }
    return true;
}

} // namespace ggml::ext
