#include "runtime/tools/audit_promises.h"

#include "runtime/ext/replay/replay.h"
#include "runtime/tools/compare.h"
#include "runtime/tools/watch.h"

#include <array>
#include <map>

namespace ggml::tools {
namespace {

constexpr const char * kNextToAnother = "an ordinary execution while there is another graph";

// Compares a trial's last values with what they should be.
bool equals(Trial & trial, const Bytes & reference, const AuditRequest & request, ggml_ext_reason reason,
            const char * when, Finding & finding) {
    const ggml_ext_tolerance & tolerance = request.tolerance;
    const ggml_ext_difference found =
        difference(trial.result(), trial.values().data(), reference.data(), tolerance);
    if (is_good(found, tolerance)) return true;
    return ext::refuse(&finding.verdict, reason, -1, "%s: %s", when, describe(found).c_str());
}

// What ordinary executions give. Stays next to the graphs that are checked, with the inputs of its last one.
class Expected {
  public:
    Expected(const AuditRequest & request, Finding & finding) : trial_(request, /*replay=*/false) {
        ext::release_recordings(request.backend);
        made_ = trial_.make(finding);
        for (size_t i = 0; made_ && i < kFills.size(); ++i) {
            made_ = trial_.run(kFills[i], finding);
            if (made_) values_[kFills[i]] = trial_.values();
        }
    }
    explicit operator bool() const { return made_; }
    const Bytes & operator[](Fill fill) const { return values_.at(fill); }

  private:
    Trial trial_;
    bool made_ = false;
    std::map<Fill, Bytes> values_;
};

// One trial under one check.
class Check {
  public:
    Check(const AuditRequest & request, const Expected & expected, Finding & finding)
        : request_(request), expected_(expected), finding_(finding), trial_(request, /*replay=*/true) {
        made_ = trial_.make(finding);
    }
    explicit operator bool() const { return made_; }
    Trial & trial() { return trial_; }

    bool run(Fill fill, ggml_ext_reason reason, const char * when) {
        return trial_.run(fill, finding_) &&
               equals(trial_, expected_[fill], request_, reason, when, finding_);
    }
    bool warm_up(Fill fill) { return run(fill, GGML_EXT_REASON_AUDIT_OLD_MEMORY, kNextToAnother); }
    bool capture(Fill fill) {
        return run(fill, GGML_EXT_REASON_AUDIT_HOST_WORK, "launched for the first time") &&
               has(GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    }
    bool record(Fill fill) { return warm_up(fill) && capture(fill); }
    bool replay(Fill fill, ggml_ext_reason reason, const char * when) {
        return run(fill, reason, when) && has(GGML_EXT_REASON_NONE);
    }

  private:
    // Without extensions there is nothing to record, and nothing is looked for.
    bool has(ggml_ext_reason reason) {
        ext::Verdict miss = trial_.miss();
        return trial_.plans().empty() || miss.reason == reason ? true : finding_.stop(std::move(miss));
    }

    const AuditRequest & request_;
    const Expected & expected_;
    Finding & finding_;
    Trial trial_;
    bool made_ = false;
};

// Ordinary executions in the same place give the same each time.
void repeats_itself(const AuditRequest & request, Finding & finding) {
    Trial trial(request, /*replay=*/false);
    if (!trial.make(finding) || !trial.run(Fill::random, finding)) return;
    const Bytes first = trial.values();
    for (int i = 0; i < 2; ++i) {
        if (!trial.run(Fill::random, finding)) return;
        if (!equals(trial, first, request, GGML_EXT_REASON_AUDIT_HOST_WORK,
                    "executed again from the same inputs", finding))
            return;
    }
}

// Spoils the workspace before every step.
class Spoiler : public sched::StepObserver {
  public:
    explicit Spoiler(Trial & trial) : trial_(trial) {}
    bool before(const ext::Plan &, const ext::Step &) override {
        trial_.poison_workspaces();
        return true;
    }
    bool after(const ext::Plan &, const ext::Step &) override { return true; }

  private:
    Trial & trial_;
};

// In the first execution, which fills what is filled once.
void leaves_nothing_in_the_workspace(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    Trial plain(request, /*replay=*/false), spoiled(request, /*replay=*/false);
    if (!expected || !plain.make(finding) || !spoiled.make(finding) || !plain.run(Fill::random, finding))
        return;
    if (!equals(plain, expected[Fill::random], request, GGML_EXT_REASON_AUDIT_OLD_MEMORY, kNextToAnother,
                finding))
        return;
    Spoiler spoiler(spoiled);
    const Watch watch(spoiled.scheduler(), spoiler);
    if (!spoiled.run(Fill::random, finding)) return;
    equals(spoiled, expected[Fill::random], request, GGML_EXT_REASON_AUDIT_WORKSPACE,
           "the workspace overwritten between steps", finding);
}

void works_without_the_host(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    if (!expected) return;
    Check check(request, expected, finding);
    if (!check || !check.record(Fill::random)) return;
    check.replay(Fill::random, GGML_EXT_REASON_AUDIT_HOST_WORK,
                 "replayed with the inputs it was recorded with");
}

void fills_its_workspace(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    if (!expected) return;
    Check check(request, expected, finding);
    if (!check || !check.record(Fill::random)) return;
    check.trial().poison_workspaces();
    check.replay(Fill::random, GGML_EXT_REASON_AUDIT_WORKSPACE,
                 "replayed after the workspace was overwritten");
}

void ignores_contents(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    if (!expected) return;
    for (Fill recorded : kFills) {
        ext::release_recordings(request.backend);
        Check check(request, expected, finding);
        if (!check || !check.record(recorded)) return;
        for (Fill replayed : kFills) {
            const std::string when = std::string("recorded with ") + fill_name(recorded) +
                                     ", replayed with " + fill_name(replayed);
            if (!check.replay(replayed, GGML_EXT_REASON_AUDIT_CONTENTS, when.c_str())) return;
        }
    }
}

// The recording outlives its plan and is found again, unless the backend could not keep it.
void outlives_its_plan(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    if (!expected) return;
    Check check(request, expected, finding);
    if (!check || !check.trial().is_reusable() || !check.record(Fill::random)) return;
    if (!check.trial().plan_again(finding)) return;
    check.run(Fill::negated, GGML_EXT_REASON_AUDIT_PLAN_STATE, "replayed by a later plan");
}

void outlives_its_graph(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    if (!expected) return;
    Check check(request, expected, finding);
    if (!check || !check.trial().is_reusable() || !check.record(Fill::random)) return;
    if (!check.trial().build_again(finding)) return;
    check.run(Fill::negated, GGML_EXT_REASON_AUDIT_OLD_GRAPH,
              "replayed after the graph was built again elsewhere");
}

void moves_to_new_memory(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    if (!expected) return;
    std::optional<Check> old(std::in_place, request, expected, finding);
    if (!*old || !old->record(Fill::random)) return;
    Check check(request, expected, finding); // before the old memory can be given to it
    if (!check) return;
    old.reset();
    constexpr ggml_ext_reason reason = GGML_EXT_REASON_AUDIT_OLD_MEMORY;
    const char * when = "in new memory, after the old was overwritten and freed";
    if (!check.run(Fill::negated, reason, when) || !check.run(Fill::negated, reason, when)) return;
    check.replay(Fill::random, reason, when);
}

void shares_nothing(const AuditRequest & request, Finding & finding) {
    const Expected expected(request, finding);
    if (!expected) return;
    Check a(request, expected, finding), b(request, expected, finding);
    if (!a || !b || !a.warm_up(Fill::random) || !b.warm_up(Fill::negated)) return;
    if (!a.capture(Fill::random) || !b.capture(Fill::negated)) return;
    for (Fill fill : {Fill::large, Fill::random}) {
        for (Check * check : {&a, &b}) {
            if (!check->replay(fill, GGML_EXT_REASON_AUDIT_SHARED, "two graphs replayed in turn")) return;
        }
    }
}

constexpr std::array<Promise, 9> kPromises = {
    repeats_itself,         leaves_nothing_in_the_workspace,
    works_without_the_host, fills_its_workspace,
    ignores_contents,       outlives_its_plan,
    outlives_its_graph,     moves_to_new_memory,
    shares_nothing,
};

} // namespace

std::span<const Promise> promises() { return kPromises; }

} // namespace ggml::tools
