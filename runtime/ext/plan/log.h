// Filling a PlanLog. Promise: without a log every call is one branch; with one, each node and each rule of
// the device has an entry in the end.
#pragma once

#include "runtime/ext/plan/plan.h"

namespace ggml::ext {

class PlanNotes {
  public:
    PlanNotes(const Plan & plan, const PlanRequest & request) : plan_(plan), request_(request) {}

    // Where a refusal is written; null when nobody asks.
    Verdict * ask(Verdict & verdict) const { return request_.log != nullptr ? &verdict : nullptr; }
    std::vector<Candidate> * ask(std::vector<Candidate> & losers) const {
        return request_.log != nullptr ? &losers : nullptr;
    }

    void single(int node, const Kernel * chosen, std::vector<Candidate> && losers) const;
    void fused(int first, int n, const Kernel & rule) const;
    void missed(const Kernel & rule, int first, Verdict && verdict) const;
    void finish(bool fused) const;

  private:
    PlanLog::Rule & entry_of(const Kernel & rule) const;
    void explain_unasked(PlanLog::Rule & entry, bool fused) const;

    const Plan & plan_;
    const PlanRequest & request_;
};

} // namespace ggml::ext
