#include "runtime/sched/expectations.h"

#include "runtime/base/log.h"
#include "runtime/sched/sched.h"

namespace ggml::sched {
namespace {

constexpr const char * kKindNames[] = {"DEVICE", "KERNEL", "FUSION", "REPLAY"};

const char * name_of(const Scheduler & s, int backend) {
    return ggml_backend_name(s.backends[size_t(backend)]);
}

std::string words_of(const Expectation & e, size_t number) {
    std::string text = "expectation " + std::to_string(number) + " (" + kKindNames[e.kind] + " ";
    switch (e.kind) {
    case GGML_EXT_EXPECT_DEVICE: text += "nodes " + e.nodes + " on " + e.name; break;
    case GGML_EXT_EXPECT_KERNEL: text += "nodes " + e.nodes + " by " + e.name; break;
    case GGML_EXT_EXPECT_FUSION: text += e.name + " " + std::to_string(e.count) + " times"; break;
    case GGML_EXT_EXPECT_REPLAY: text += e.name + " from execution " + std::to_string(e.count) + " on"; break;
    }
    return text + "): ";
}

ggml_ext_reason reason_of(ggml_ext_expectation_kind kind) {
    constexpr ggml_ext_reason kReasons[] = {GGML_EXT_REASON_EXPECT_DEVICE, GGML_EXT_REASON_EXPECT_KERNEL,
                                            GGML_EXT_REASON_EXPECT_FUSION, GGML_EXT_REASON_EXPECT_REPLAY};
    return kReasons[kind];
}

// Looks at one planned graph. Each function says what happened instead; empty: as expected.
class PlanCheck {
  public:
    PlanCheck(const Scheduler & s, const std::vector<ext::PlanLog> & logs) : s_(s), logs_(logs) {}

    std::string breach(const Expectation & e) const {
        switch (e.kind) {
        case GGML_EXT_EXPECT_DEVICE: return device(e);
        case GGML_EXT_EXPECT_KERNEL: return kernel(e);
        case GGML_EXT_EXPECT_FUSION: return fusion(e);
        case GGML_EXT_EXPECT_REPLAY: break;
        }
        return {};
    }

  private:
    // describe(split, entry, node) -> what is wrong with a node that matches; counts and keeps the first.
    template <class Describe>
    std::string each(const Expectation & e, Describe && describe) const {
        std::string first;
        int n_matching = 0, n_bad = 0;
        for (size_t i = 0; i < logs_.size(); ++i) {
            const Split & split = s_.splits[i];
            for (const ext::PlanLog::Node & entry : logs_[i].nodes) {
                const ggml_tensor * node = split.graph.nodes[entry.node];
                if (op_is_metadata_only(node->op)) continue;
                const char * pattern = e.nodes.c_str();
                if (!matches_pattern(node->name, pattern) && !matches_pattern(ggml_op_desc(node), pattern))
                    continue;
                ++n_matching;
                std::string text = describe(i, entry, node);
                if (text.empty()) continue;
                if (++n_bad == 1) first = std::move(text);
            }
        }
        if (n_matching == 0) return "no node matches";
        return n_bad > 1 ? std::to_string(n_bad) + " nodes do not; " + first : first;
    }

    std::string device(const Expectation & e) const {
        return each(
            e, [&](size_t split, const ext::PlanLog::Node &, const ggml_tensor * node) -> std::string {
                const int backend = s_.splits[split].backend;
                if (e.name == name_of(s_, backend)) return {};
                return described(node) + " runs on " + name_of(s_, backend) + ": " + why_not_on(e.name, node);
            });
    }

    std::string why_not_on(const std::string & name, const ggml_tensor * node) const {
        for (int b = 0; b < s_.n_backends; ++b) {
            if (name != name_of(s_, b)) continue;
            const std::vector<ext::Candidate> refused = refusals(s_, b, node);
            if (refused.empty()) return name + " could run it, but its data or the caller put it there";
            const ext::Candidate & first = refused.front();
            return (first.kernel != nullptr ? first.kernel->name + ": " : "") + first.verdict.message();
        }
        return "the scheduler has no backend of that name";
    }

    std::string kernel(const Expectation & e) const {
        return each(e, [&](size_t split, const ext::PlanLog::Node & entry, const ggml_tensor * node) {
            if (entry.chosen != nullptr && entry.chosen->name == e.name) return std::string();
            const char * backend = name_of(s_, s_.splits[split].backend);
            const std::string by = entry.chosen != nullptr ? entry.chosen->name : "the device itself";
            return described(node) + " is computed by " + by + " on " + backend + ": " +
                   why_not_by(e.name, split, entry);
        });
    }

    std::string why_not_by(const std::string & name, size_t split, const ext::PlanLog::Node & entry) const {
        for (const ext::Candidate & loser : entry.losers) {
            if (loser.kernel->name == name) return loser.verdict.message();
        }
        for (const ext::PlanLog::Rule & rule : logs_[split].rules) {
            if (rule.rule->name != name) continue;
            if (rule.fired == 0) return rule.verdict.message();
            return std::string(ggml_ext_reason_name(GGML_EXT_REASON_FUSION_ONLY)) + ": it fired " +
                   std::to_string(rule.fired) + " times, elsewhere";
        }
        return std::string(name_of(s_, s_.splits[split].backend)) +
               " has no kernel of that name for this operator";
    }

    std::string fusion(const Expectation & e) const {
        int fired = 0;
        const ext::PlanLog::Rule * missed = nullptr; // where it came furthest
        bool known = false;
        for (const ext::PlanLog & log : logs_) {
            for (const ext::PlanLog::Rule & rule : log.rules) {
                if (rule.rule->name != e.name) continue;
                known = true;
                fired += rule.fired;
                if (!rule.verdict.refused()) continue;
                if (missed == nullptr || rule.longest > missed->longest) missed = &rule;
            }
        }
        if (fired == e.count) return {};
        if (!known) return "no device that computes nodes of this graph has a rule of that name";
        std::string text = "it fired " + std::to_string(fired) + " times";
        if (fired < e.count && missed != nullptr) {
            text += "; its longest other match had " + std::to_string(missed->longest) +
                    " nodes: " + missed->verdict.message();
        }
        return text;
    }

    static std::string described(const ggml_tensor * node) {
        return std::string("'") + node->name + "' (" + ggml_op_desc(node) + ")";
    }

    const Scheduler & s_;
    const std::vector<ext::PlanLog> & logs_;
};

void report(Expectation & e, size_t number, const std::string & breach, bool & failed) {
    const std::string line = words_of(e, number) + breach;
    const char * word = ggml_ext_reason_name(reason_of(e.kind));
    if (!e.is_error) {
        if (!e.warned) GGML_LOG_WARN("scheduler: %s (%s)\n", line.c_str(), word);
        e.warned = true;
        return;
    }
    GGML_LOG_ERROR("scheduler: %s (%s)\n", line.c_str(), word);
    if (!failed) (void)ext::answer(GGML_EXT_REFUSED, reason_of(e.kind), "%s", line.c_str());
    failed = true;
}

std::string replay_breach(const Scheduler & s, const Expectation & e) {
    bool known = false;
    for (size_t i = 0; i < s.splits.size(); ++i) {
        if (e.name != name_of(s, s.splits[i].backend)) continue;
        known = true;
        const ext::Verdict miss = replay_miss(s, s.splits[i]);
        if (!miss.refused()) continue;
        return "execution " + std::to_string(s.executions) + ", split " + std::to_string(i) + ": " +
               miss.message();
    }
    return known ? "" : "no split runs on a backend of that name";
}

} // namespace

bool matches_pattern(const char * text, const char * pattern) {
    // Where to go on when the rest does not fit: behind the last *, with one more character given to it.
    const char *star = nullptr, *again = nullptr;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (*pattern == '?' || *pattern == *text) {
            ++pattern;
            ++text;
        } else if (star != nullptr) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*') ++pattern;
    return *pattern == '\0';
}

bool split_as_expected(Scheduler & s, ggml_cgraph * graph) {
    if (s.expectations.empty()) return split(s, graph);
    struct Logs {
        explicit Logs(Scheduler & sched) : of(sched) { of.logs = &logs; }
        ~Logs() { of.logs = nullptr; }
        Scheduler & of;
        std::vector<ext::PlanLog> logs;
    } logs(s);
    if (!split(s, graph)) return false;
    const PlanCheck check(s, logs.logs);
    bool failed = false;
    for (size_t i = 0; i < s.expectations.size(); ++i) {
        s.expectations[i].warned = false;
        const std::string breach = check.breach(s.expectations[i]);
        if (!breach.empty()) report(s.expectations[i], i, breach, failed);
    }
    return !failed;
}

bool meets_replay_expectations(Scheduler & s) {
    bool failed = false;
    for (size_t i = 0; i < s.expectations.size(); ++i) {
        Expectation & e = s.expectations[i];
        if (e.kind != GGML_EXT_EXPECT_REPLAY || s.executions < uint64_t(e.count)) continue;
        const std::string breach = replay_breach(s, e);
        if (!breach.empty()) report(e, i, breach, failed);
    }
    return !failed;
}

} // namespace ggml::sched
