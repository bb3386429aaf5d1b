// Going through the nodes once: fusion first, then a kernel for the single node, else the device itself. What
// the device keeps is optimized range by range, so that its own fusion never meets a node an extension
// computes.
#include "runtime/ext/plan/plan.h"

#include "runtime/backend/interface.h"
#include "runtime/ext/fusion/fusion.h"
#include "runtime/ext/plan/log.h"

#include <optional>

namespace ggml::ext {
namespace {

class Selector {
  public:
    Selector(Plan & plan, const PlanRequest & request)
        : plan_(plan), request_(request), notes_(plan, request), device_(plan.backend->device),
          fuse_(request.fuse && request.policy->fusion) {}

    void run();

  private:
    int match_at(int first, const Kernel ** rule);
    bool rule_fires(const Kernel & rule, int first, int & n, Verdict * why);
    void add(StepKind kind, int first, int n, const Kernel * kernel);
    bool is_limited() const { return n_steps_ >= request_.policy->most_steps; }
    const Policy & policy_now();

    Plan & plan_;
    const PlanRequest & request_;
    const PlanNotes notes_;
    ggml_backend_dev_t device_;
    const bool fuse_;
    size_t n_steps_ = request_.steps_before;
    std::optional<Legality> legality_; // made when the first rule matches
    std::optional<Policy> essential_;  // made when the limit of steps is reached
};

bool Selector::rule_fires(const Kernel & rule, int first, int & n, Verdict * why) {
    if (!request_.policy->allows(rule)) {
        return refuse(why, GGML_EXT_REASON_DISABLED, first, "%s is on the list of disabled names",
                      rule.name.c_str());
    }
    n = rule.call.match(device_, &plan_.graph, first, why, rule.call.user_data);
    if (n == 0) {
        if (why != nullptr && !why->refused())
            refuse(why, GGML_EXT_REASON_NO_MATCH, first, "no reason was given");
        return false;
    }
    if (n < 2 || n > plan_.graph.n_nodes - first) {
        return refuse(why, GGML_EXT_REASON_MATCH_LENGTH, first, "%s answered %d, %d nodes are left",
                      rule.name.c_str(), n, plan_.graph.n_nodes - first);
    }
    if (why != nullptr) why->matched = n;
    if (!legality_.has_value()) legality_.emplace(&plan_.graph);
    return legality_->check(first, n, why, &plan_.skipped);
}

int Selector::match_at(int first, const Kernel ** rule) {
    for (const Kernel * candidate : plan_.kernels->rules_for(plan_.graph.nodes[first])) {
        Verdict verdict;
        int n = 0;
        if (rule_fires(*candidate, first, n, notes_.ask(verdict))) {
            *rule = candidate;
            return n;
        }
        notes_.missed(*candidate, first, std::move(verdict));
    }
    return 0;
}

void Selector::add(StepKind kind, int first, int n, const Kernel * kernel) {
    if (kind == StepKind::native && !plan_.steps.empty() && plan_.steps.back().kind == kind) {
        plan_.steps.back().n += n;
        return;
    }
    plan_.steps.push_back({kind, first, n, kernel});
    if (kernel == nullptr) return;
    ++n_steps_;
    plan_.has_extensions = true;
    plan_.capture_safe = plan_.capture_safe && kernel->capture_safe();
    plan_.replay_reusable = plan_.replay_reusable && kernel->replay_reusable();
}

const Policy & Selector::policy_now() {
    if (!is_limited()) return *request_.policy;
    if (!essential_.has_value()) {
        essential_ = *request_.policy;
        essential_->kernels = false;
    }
    return *essential_;
}

void Selector::run() {
    plan_.capture_safe = plan_.replay_reusable = true;
    for (int i = 0; i < plan_.graph.n_nodes;) {
        const Kernel * kernel = nullptr;
        const int n = fuse_ && !is_limited() ? match_at(i, &kernel) : 0;
        if (n > 0) {
            notes_.fused(i, n, *kernel);
            add(StepKind::fusion, i, n, kernel);
            i += n;
            continue;
        }
        std::vector<Candidate> losers;
        kernel = choose(device_, *plan_.kernels, plan_.graph.nodes[i], policy_now(), notes_.ask(losers));
        notes_.single(i, kernel, std::move(losers));
        add(kernel != nullptr ? StepKind::kernel : StepKind::native, i, 1, kernel);
        ++i;
    }
    notes_.finish(fuse_);
}

// The device's own passes over what is left to it.
void optimize_native_range(Plan & plan, Step & step, bool placed) {
    ggml_cgraph range = graph_view(&plan.graph, step.first, step.n);
    step.uid = range.uid = next_graph_uid();
    const ggml_backend_i & iface = plan.backend->iface;
    // Tensors with storage have been through this.
    if (placed) return;
    if (iface.graph_optimize != nullptr) iface.graph_optimize(plan.backend, &range);
    if (iface.skip_alloc == nullptr) return;
    for (int i = 0; i < range.n_nodes; ++i) {
        if (iface.skip_alloc(plan.backend, &range, range.nodes[i])) plan.skipped.push_back(range.nodes[i]);
    }
}

} // namespace

void optimize(const PlanRequest & request) {
    ggml_backend_dev_t device = request.backend->device;
    const DeviceKernels * kernels = kernels_of(device);
    if (kernels == nullptr || !request.fuse || !request.policy->fusion) return;
    for (const Kernel * rule : kernels->optimizers()) {
        if (request.policy->allows(*rule)) rule->call.optimize(device, request.graph, rule->call.user_data);
    }
}

void select(Plan & plan, const PlanRequest & request) {
    if (plan.kernels != nullptr) {
        Selector(plan, request).run();
    } else if (plan.graph.n_nodes > 0) {
        plan.steps.push_back({StepKind::native, 0, plan.graph.n_nodes});
        PlanNotes(plan, request).finish(false);
    }
    plan.n_fused_away = plan.skipped.size();
    for (Step & step : plan.steps) {
        if (step.kind == StepKind::native) optimize_native_range(plan, step, request.placed);
    }
}

} // namespace ggml::ext
