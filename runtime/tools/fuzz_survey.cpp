#include "runtime/tools/fuzz_survey.h"

#include "runtime/backend/interface.h"
#include "runtime/ext/effects/effects.h"

#include <algorithm>
#include <unordered_map>

namespace ggml::tools {
namespace {

class SplitSurvey {
  public:
    SplitSurvey(sched::Scheduler & s, const sched::Split & split, const char * rule, FuzzSurvey & survey)
        : nodes_(split.graph.nodes, split.graph.nodes + split.graph.n_nodes), graph_(split.graph),
          rule_(rule), survey_(survey) {
        request_.backend = s.backends[size_t(split.backend)];
        request_.buft = s.bufts[size_t(split.backend)];
        request_.policy = &s.policy;
        request_.fuse = true;
        request_.log = &log_;
    }

    void run() {
        find_disorder();
        // Selection lets the device sort its nodes; the scheduler's own stay as they are.
        std::vector<ggml_tensor *> order = nodes_;
        graph_.nodes = order.data();
        request_.graph = &graph_;
        ext::Plan plan(request_);
        ext::select(plan, request_);
        for (const ext::PlanLog::Rule & entry : log_.rules) note_rule(entry);
        for (ext::PlanLog::Node & entry : log_.nodes) note_node(entry);
    }

  private:
    void note_rule(const ext::PlanLog::Rule & entry) {
        if (entry.rule->name != rule_) return;
        survey_.fired += entry.fired;
        survey_.fused += entry.fired;
        if (entry.at >= 0) note_refusal(entry.verdict);
    }

    void note_node(ext::PlanLog::Node & entry) {
        const ggml_tensor * node = nodes_[size_t(entry.node)];
        if (entry.kind == ext::StepKind::kernel) survey_.fired += entry.chosen->name == rule_;
        for (ext::Candidate & loser : entry.losers) {
            if (loser.kernel->name == rule_) note_refusal(loser.verdict);
        }
        if (entry.kind != ext::StepKind::native || !ext::effects_of(node).runs_code) return;
        if (!ggml_ext_dev_supports_native_op(request_.backend->device, node)) survey_.planned = false;
    }

    void note_refusal(const ext::Verdict & verdict) {
        if (!survey_.asked || verdict.matched > survey_.verdict.matched) survey_.verdict = verdict;
        survey_.asked = true;
    }

    void find_disorder() {
        std::unordered_map<const ggml_tensor *, size_t> at;
        for (size_t i = 0; i < nodes_.size(); ++i) at[nodes_[i]] = i;
        for (size_t i = 0; i < nodes_.size(); ++i) {
            for (const ggml_tensor * src : nodes_[i]->src) {
                const auto found = at.find(src);
                if (src == nullptr || found == at.end() || found->second <= i) continue;
                survey_.disorder =
                    std::string("'") + nodes_[i]->name + "' was moved before its source '" + src->name + "'";
            }
        }
    }

    const std::vector<ggml_tensor *> nodes_; // as the scheduler runs them
    ggml_cgraph graph_;
    const char * rule_;
    FuzzSurvey & survey_;
    ext::PlanLog log_;
    ext::PlanRequest request_;
};

} // namespace

bool fuzz_is_supported(const FuzzMachine & machine, const FuzzProgram & program) {
    const auto runs = [&](const ggml_tensor * node) {
        const bool bound = ext::is_placed(node);
        const auto & backends = machine.backends;
        return std::any_of(backends.begin(), backends.begin() + (bound ? 1 : ptrdiff_t(backends.size())),
                           [node](ggml_backend_t b) { return ggml_backend_supports_op(b, node); });
    };
    return std::all_of(program.order.begin(), program.order.end(), runs);
}

FuzzSurvey fuzz_survey(sched::Scheduler & s, const char * rule) {
    FuzzSurvey survey;
    survey.planned = s.stage == sched::Stage::kSplit;
    if (!survey.planned) return survey;
    for (const sched::Split & split : s.splits) SplitSurvey(s, split, rule, survey).run();
    return survey;
}

} // namespace ggml::tools
