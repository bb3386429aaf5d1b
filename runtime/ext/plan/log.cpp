#include "runtime/ext/plan/log.h"

#include <algorithm>

namespace ggml::ext {
namespace {

const char * first_op(const Kernel & rule) {
    return rule.call.custom_op != nullptr ? ggml_ext_op_name(rule.call.custom_op)
                                          : ggml_op_name(rule.call.op);
}

} // namespace

PlanLog::Rule & PlanNotes::entry_of(const Kernel & rule) const {
    for (PlanLog::Rule & entry : request_.log->rules) {
        if (entry.rule == &rule) return entry;
    }
    return request_.log->rules.emplace_back(PlanLog::Rule{&rule});
}

void PlanNotes::single(int node, const Kernel * chosen, std::vector<Candidate> && losers) const {
    if (request_.log == nullptr) return;
    const StepKind kind = chosen != nullptr ? StepKind::kernel : StepKind::native;
    request_.log->nodes.push_back({node, kind, chosen, std::move(losers)});
}

void PlanNotes::fused(int first, int n, const Kernel & rule) const {
    if (request_.log == nullptr) return;
    ++entry_of(rule).fired;
    const auto outrank = [&rule](Verdict & verdict, const char * how) {
        refuse(&verdict, GGML_EXT_REASON_OUTRANKED, -1, "%s %s", rule.name.c_str(), how);
    };
    for (int i = first; i < first + n; ++i) {
        PlanLog::Node & entry = request_.log->nodes.emplace_back(PlanLog::Node{i, StepKind::fusion, &rule});
        for (const Kernel * kernel : plan_.kernels->for_node(plan_.graph.nodes[i])) {
            outrank(entry.losers.emplace_back(Candidate{kernel, {}}).verdict, "computes it with others");
        }
    }
    const auto rules = plan_.kernels->rules_for(plan_.graph.nodes[first]);
    const auto fired = std::find(rules.begin(), rules.end(), &rule);
    for (auto later = fired + 1; later < rules.end(); ++later) {
        Verdict verdict;
        outrank(verdict, "is considered earlier");
        verdict.node = first;
        missed(**later, first, std::move(verdict));
    }
}

void PlanNotes::missed(const Kernel & rule, int first, Verdict && verdict) const {
    if (request_.log == nullptr) return;
    PlanLog::Rule & entry = entry_of(rule);
    if (entry.at >= 0 && verdict.matched <= entry.longest) return;
    entry.longest = verdict.matched;
    entry.at = first;
    entry.verdict = std::move(verdict);
}

void PlanNotes::explain_unasked(PlanLog::Rule & entry, bool fused) const {
    if (entry.fired > 0 || entry.at >= 0) return;
    if (!request_.policy->fusion) {
        refuse(&entry.verdict, GGML_EXT_REASON_FUSION_OFF, -1, "the policy switches fusion off");
    } else if (!fused) {
        refuse(&entry.verdict, GGML_EXT_REASON_FUSION_OFF, -1,
               "several pipeline copies or an evaluation callback need every node");
    } else {
        refuse(&entry.verdict, GGML_EXT_REASON_NO_MATCH, -1,
               "no step of the device's %d nodes begins with %s", plan_.graph.n_nodes, first_op(*entry.rule));
    }
}

void PlanNotes::finish(bool fused) const {
    if (request_.log == nullptr) return;
    if (plan_.kernels == nullptr) {
        for (int i = 0; i < plan_.graph.n_nodes; ++i) single(i, nullptr, {});
        return;
    }
    for (const Kernel * rule : plan_.kernels->rules()) explain_unasked(entry_of(*rule), fused);
}

} // namespace ggml::ext
