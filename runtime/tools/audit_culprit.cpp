#include "runtime/backend/interface.h"
#include "runtime/tools/audit_promises.h"

#include <algorithm>

namespace ggml::tools {
namespace {

bool contains(const std::vector<std::string> & names, const std::string & name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void add_once(std::vector<std::string> & names, const std::string & name) {
    if (!contains(names, name)) names.push_back(name);
}

// Does the check fail with these switched off too? `carried_out` false: that cannot be told.
Finding repeat(const AuditRequest & request, const std::vector<std::string> & off, Promise promise) {
    AuditRequest reduced = request;
    reduced.disabled.insert(reduced.disabled.end(), off.begin(), off.end());
    Finding finding;
    promise(reduced, finding);
    return finding;
}

} // namespace

KernelNames kernels_in(Trial & trial) {
    KernelNames names;
    for (const sched::SplitPlan * planned : trial.plans()) {
        const ext::Plan & plan = planned->plan;
        for (const ext::Step & step : plan.steps) {
            if (step.kernel == nullptr) continue;
            add_once(step.kernel->capture_safe() ? names.safe : names.unsafe, step.kernel->name);
            const bool single = step.kind == ext::StepKind::kernel;
            if (single &&
                !ggml_ext_dev_supports_native_op(plan.backend->device, plan.graph.nodes[step.first]))
                add_once(names.essential, step.kernel->name);
        }
    }
    return names;
}

std::string culprit(const AuditRequest & request, const KernelNames & kernels, Promise promise) {
    if (kernels.safe.size() == 1) return kernels.safe[0];
    for (const std::string & name : kernels.safe) {
        if (contains(kernels.essential, name)) continue;
        if (repeat(request, {name}, promise).is_clean()) return name;
    }
    // Several fail, or one that must stay: each with as few others as possible.
    for (const std::string & name : kernels.safe) {
        std::vector<std::string> others;
        for (const std::string & other : kernels.safe) {
            if (other != name && !contains(kernels.essential, other)) others.push_back(other);
        }
        const bool alone = others.size() + 1 == kernels.safe.size();
        const Finding finding = repeat(request, others, promise);
        if (alone && finding.carried_out && finding.verdict.refused()) return name;
    }
    std::string all = "one of ";
    for (const std::string & name : kernels.safe) all += (name == kernels.safe[0] ? "" : ", ") + name;
    return all;
}

} // namespace ggml::tools
