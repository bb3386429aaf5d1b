// From a dry run to a report.
#include "runtime/backend/interface.h"
#include "runtime/base/text.h"
#include "runtime/ext/report/report.h"
#include "runtime/ext/verdict/guard.h"
#include "runtime/sched/dry_run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ggml::sched {
namespace {

const char * name_of(const Scheduler & s, int backend) {
    return ggml_backend_name(s.backends[size_t(backend)]);
}

ext::ReportRefusal refusal(const ext::Verdict & verdict, const ext::Kernel * who, const char * backend = "") {
    return {who != nullptr ? who->name : "", backend, verdict.reason,
            verdict.words.empty() && verdict.refused() ? ggml_ext_reason_text(verdict.reason)
                                                       : verdict.words};
}

bool is_callers_function(const ggml_tensor * t) {
    return t->op == GGML_OP_MAP_CUSTOM1 || t->op == GGML_OP_MAP_CUSTOM2 || t->op == GGML_OP_MAP_CUSTOM3 ||
           t->op == GGML_OP_CUSTOM;
}

std::string attributes(const ggml_tensor * t) {
    const ggml_ext_op_t op = ggml_ext_node_op(t);
    if (op == nullptr && is_callers_function(t)) return {};
    const void * bytes = op != nullptr ? ggml_ext_node_attrs(t) : t->op_params;
    size_t n = op != nullptr ? ggml_ext_op_attr_size(op) : sizeof(t->op_params);
    const auto * p = static_cast<const uint8_t *>(bytes);
    while (op == nullptr && n > 0 && p[n - 1] == 0) --n;
    std::string text;
    for (size_t i = 0; i < n; ++i) {
        for (const int shift : {4, 0}) text += "0123456789abcdef"[p[i] >> shift & 15];
    }
    return text;
}

// Up to the last that is there.
std::vector<ext::ReportInput> inputs(const ggml_tensor * t) {
    std::vector<ext::ReportInput> list;
    for (size_t i = 0; i < GGML_MAX_SRC; ++i) {
        const ggml_tensor * source = t->src[i];
        if (source == nullptr) continue;
        list.resize(i + 1);
        list[i].type = ggml_type_name(source->type);
        std::copy(source->ne, source->ne + GGML_MAX_DIMS, list[i].ne.begin());
        std::copy(source->nb, source->nb + GGML_MAX_DIMS, list[i].nb.begin());
    }
    return list;
}

class Explainer {
  public:
    Explainer(const DryRun & run, const ggml_cgraph * graph) : run_(run), s_(run.scratch), graph_(graph) {}

    ext::Report report() {
        report_.n_nodes = graph_->n_nodes;
        report_.n_leafs = graph_->n_leafs;
        report_.n_copies = s_.n_copies;
        for (size_t i = 0; i < s_.splits.size(); ++i) add_split(s_.splits[i], run_.logs[i]);
        add_memory();
        add_fallbacks();
        return std::move(report_);
    }

  private:
    void add_split(const Split & split, const ext::PlanLog & log);
    void add_workspace(const ext::Plan & plan, ext::ReportSplit & out);
    ext::ReportNode node(const Split & split, const ext::PlanLog::Node & entry);
    void add_rule(const Split & split, const ext::PlanLog::Rule & rule);
    void add_left_out(const Split & split);
    void add_memory();
    void add_fallbacks();

    const DryRun & run_;
    const Scheduler & s_;
    const ggml_cgraph * graph_;
    ext::Report report_;
};

ext::ReportNode Explainer::node(const Split & split, const ext::PlanLog::Node & entry) {
    const ggml_tensor * t = split.graph.nodes[entry.node];
    ext::ReportNode out{split.begin + entry.node,
                        t->name,
                        ggml_op_desc(t),
                        describe_tensor(t),
                        entry.kind,
                        entry.chosen != nullptr ? entry.chosen->name : "",
                        {},
                        {},
                        inputs(t),
                        attributes(t)};
    for (const ext::Candidate & loser : entry.losers) {
        out.rejected.push_back(refusal(loser.verdict, loser.kernel));
    }
    if (op_is_metadata_only(t->op)) return out;
    for (int b = 0; b < split.backend; ++b) {
        for (const ext::Candidate & refused : refusals(s_, b, t)) {
            out.elsewhere.push_back(refusal(refused.verdict, refused.kernel, name_of(s_, b)));
        }
    }
    return out;
}

void Explainer::add_workspace(const ext::Plan & plan, ext::ReportSplit & out) {
    out.workspace_bytes = plan.workspace_bytes;
    for (const ext::Step & step : plan.steps) {
        if (step.workspace_bytes == 0 || step.workspace_bytes != plan.workspace_bytes) continue;
        const ggml_tensor * result = plan.graph.nodes[step.first + step.n - 1];
        out.workspace_step = step.kernel->name + " ('" + result->name + "')";
        return;
    }
}

void Explainer::add_rule(const Split & split, const ext::PlanLog::Rule & rule) {
    const bool missed = rule.at >= 0 && rule.verdict.refused();
    ext::ReportRule out{name_of(s_, split.backend),
                        rule.rule->name,
                        rule.fired,
                        rule.longest,
                        missed ? split.begin + rule.at : -1,
                        missed ? split.graph.nodes[rule.at]->name : "",
                        refusal(rule.verdict, rule.rule)};
    if (rule.fired == 0 && rule.longest > 0) {
        report_.notices.push_back(out.name + " never fires in a part of the graph on " + out.backend +
                                  " though it begins to match: " + rule.verdict.message());
    }
    // A rule of a device with several splits is one line: how often in all, and where it came furthest.
    for (ext::ReportRule & known : report_.rules) {
        if (known.backend != out.backend || known.name != out.name) continue;
        out.fired += known.fired;
        if (out.at < 0 || (known.at >= 0 && known.longest >= out.longest)) {
            const int fired = out.fired;
            out = known;
            out.fired = fired;
        }
        known = std::move(out);
        return;
    }
    report_.rules.push_back(std::move(out));
}

void Explainer::add_left_out(const Split & split) {
    if (split.plan < 0) return;
    const ext::Plan & plan = s_.plans[size_t(split.plan)]->plan;
    for (size_t i = 0; i < plan.n_fused_away; ++i) {
        if (plan.skipped[i]->view_src != nullptr) continue;
        ++report_.n_left_out;
        report_.left_out_bytes +=
            ggml_backend_buft_get_alloc_size(s_.bufts[size_t(split.backend)], plan.skipped[i]);
    }
}

void Explainer::add_split(const Split & split, const ext::PlanLog & log) {
    ggml_backend_t backend = s_.backends[size_t(split.backend)];
    ext::ReportSplit out;
    out.backend = ggml_backend_name(backend);
    out.device = ggml_backend_dev_description(backend->device);
    out.first = split.begin;
    out.n_nodes = split.graph.n_nodes;
    out.failure = refusal(log.failure, nullptr);
    for (int k = 0; k < split.n_inputs; ++k) {
        out.copied.push_back(s_.tensors[s_.split_inputs[size_t(split.first_input + k)]].tensor->name);
    }
    if (split.plan >= 0) add_workspace(s_.plans[size_t(split.plan)]->plan, out);
    for (const ext::PlanLog::Node & entry : log.nodes) out.nodes.push_back(node(split, entry));
    for (const ext::PlanLog::Rule & rule : log.rules) add_rule(split, rule);
    add_left_out(split);
    report_.splits.push_back(std::move(out));
}

void Explainer::add_memory() {
    for (int b = 0; b < s_.n_backends; ++b) {
        const size_t workspace = ext::Workspace::allocated_bytes(s_.bufts[size_t(b)], workspace_bytes(s_, b));
        const size_t tensors = run_.tensor_bytes[size_t(b)];
        report_.memory.push_back({name_of(s_, b), tensors, workspace, tensors});
    }
}

void Explainer::add_fallbacks() {
    Fallback fallback;
    for (int i = 0; i < graph_->n_nodes; ++i) {
        if (!find_fallback(s_, graph_, i, fallback)) continue;
        const ggml_tensor * t = graph_->nodes[i];
        report_.notices.push_back(std::string("'") + t->name + "' (" + ggml_op_desc(t) + ") runs on " +
                                  name_of(s_, s_.tensors[s_.index.nodes[size_t(i)]].backend) +
                                  " and not on " + name_of(s_, fallback.wanted) + ", where " +
                                  fallback.first.kernel->name +
                                  " refuses: " + fallback.first.verdict.message());
    }
}

// What the memory would be without fusion, where there is any.
void measure_unfused(const Scheduler & s, ggml_cgraph * graph, ext::Report & report) {
    DryRun unfused(s, graph);
    unfused.scratch.policy.fusion = false;
    if (!unfused.run()) return;
    for (size_t b = 0; b < report.memory.size(); ++b) {
        report.memory[b].tensor_bytes_unfused = unfused.tensor_bytes[b];
    }
}

void add_replays(const Scheduler & s, const ggml_cgraph * graph, ext::Report & report) {
    if (s.stage != Stage::kAllocated || s.graph != graph) return;
    report.executions = s.executions;
    for (size_t i = 0; i < s.splits.size() && s.executions > 0; ++i) {
        report.replays.push_back(
            {int(i), name_of(s, s.splits[i].backend), refusal(replay_miss(s, s.splits[i]), nullptr)});
    }
}

char * text_for_caller(const std::string & text) {
    char * copy = static_cast<char *>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

ggml_ext_status explain(Scheduler & s, ggml_cgraph * graph, ggml_ext_format format, char ** text) {
    ext::Report report;
    {
        const Unallocated as_before(s, graph);
        DryRun run(s, graph);
        if (!run.run()) return ext::answer(GGML_EXT_REFUSED, run.scratch.refusal);
        report = Explainer(run, graph).report();
        restore_sources(run.scratch);
        if (report.n_left_out > 0) measure_unfused(s, graph, report);
    }
    add_replays(s, graph, report);
    *text = text_for_caller(format == GGML_EXT_FORMAT_JSON ? to_json(report) : to_text(report));
    return GGML_EXT_SUCCESS;
}

} // namespace
} // namespace ggml::sched

char * ggml_ext_explain(ggml_backend_sched_t sched, ggml_cgraph * graph, ggml_ext_format format) {
    using namespace ggml;
    char * text = nullptr;
    if (sched == nullptr || graph == nullptr) {
        ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "ggml_ext_explain: no %s",
                    sched == nullptr ? "scheduler" : "graph");
        return nullptr;
    }
    (void)ext::guarded("explain a graph", [&] { return sched::explain(*sched, graph, format, &text); });
    return text;
}
