// Rounds of an attack on one rule. Promise: a seed stands for one mutated graph with its contents, whatever
// was tried before.
#pragma once

#include "runtime/tools/fuzz_mutate.h"
#include "runtime/tools/fuzz_run.h"

#include <optional>
#include <string>
#include <vector>

namespace ggml::tools {

struct FuzzTarget {
    FuzzMachine machine;
    const char * rule;
    ggml_ext_build_t build;
    void * user_data;
    ggml_ext_tolerance tolerance;
    bool all_fusion = false; // the rule cannot be left out alone: nobody else computes its nodes
};

// Which mutations, and the seed of each.
struct FuzzDraw {
    struct Choice {
        size_t mutation;
        uint64_t seed;
    };
    uint64_t seed = 0; // of contents
    std::vector<Choice> choices;
};

struct FuzzRound {
    FuzzDraw draw;
    std::string mutation;
    FuzzSurvey survey;
    std::string difference; // empty: the results are the same
};

class FuzzAttack {
  public:
    explicit FuzzAttack(const FuzzTarget & target) : target_(target) {}

    // Does the rule fire on the example as it is, and can the example run without it? Else the reason.
    bool example_is_good(ext::Verdict & why);

    // Empty when no mutation of many could run without the rule.
    std::optional<FuzzRound> round(uint64_t seed);

    // A round that found something, with the mutations left out that it does not need.
    FuzzRound simplified(FuzzRound found);

  private:
    std::optional<FuzzRound> attempt(const FuzzDraw & draw);
    std::unique_ptr<FuzzProgram> mutated(const FuzzDraw & draw, std::string & mutation);
    FuzzSetting without_rule() const;
    std::optional<FuzzOutcome> outcome(const FuzzDraw & draw, const FuzzSetting & setting,
                                       std::string & mutation);

    FuzzTarget target_;
};

} // namespace ggml::tools
