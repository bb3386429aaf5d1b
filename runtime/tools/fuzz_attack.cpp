#include "runtime/tools/fuzz_attack.h"

#include "runtime/graph/graph.h"

#include <algorithm>

namespace ggml::tools {
namespace {

// Mutations that nobody could build or run are drawn again.
constexpr int kMostAttempts = 100;
constexpr size_t kMostMutations = 3;
constexpr int kReplayedExecutions = 3; // cold, recorded, replayed
constexpr size_t kPlainEvery = 8;      // rounds from one that is also run without any extension to the next

FuzzDraw draw_from(uint64_t seed) {
    Random random(seed);
    FuzzDraw draw;
    draw.seed = random.next();
    const size_t n = 1 + random.below(kMostMutations);
    for (size_t i = 0; i < n; ++i)
        draw.choices.push_back({random.below(fuzz_mutations().size()), random.next()});
    std::stable_sort(draw.choices.begin(), draw.choices.end(),
                     [](const auto & a, const auto & b) { return a.mutation < b.mutation; });
    return draw;
}

} // namespace

FuzzSetting FuzzAttack::without_rule() const {
    FuzzSetting setting;
    if (target_.all_fusion) {
        setting.fusion = false;
    } else {
        setting.disabled = {target_.rule};
    }
    return setting;
}

std::unique_ptr<FuzzProgram> FuzzAttack::mutated(const FuzzDraw & draw, std::string & mutation) {
    ext::Verdict why;
    auto program = FuzzProgram::of_example(target_.build, target_.user_data, why);
    if (program == nullptr || !program->settle()) return nullptr;
    // Where inputs lie that have no place yet. What is written lies where it can be looked at.
    Random random(draw.seed);
    for (FuzzLeaf & leaf : program->leafs) leaf.placed = !random.one_in(3) || leaf.placed;
    for (ggml_tensor * node : program->order) {
        FuzzLeaf * written = op_is_metadata_only(node->op) ? nullptr : program->leaf_of(fuzz_root(node));
        if (written != nullptr) written->placed = true;
    }
    mutation.clear();
    for (const FuzzDraw::Choice & choice : draw.choices) {
        Random own(choice.seed);
        std::string what;
        if (!fuzz_mutations()[choice.mutation](*program, own, what) || !program->settle()) return nullptr;
        mutation += (mutation.empty() ? "" : "; ") + what;
    }
    return program;
}

std::optional<FuzzOutcome> FuzzAttack::outcome(const FuzzDraw & draw, const FuzzSetting & setting,
                                               std::string & mutation) {
    const std::unique_ptr<FuzzProgram> program = mutated(draw, mutation);
    if (program == nullptr) return std::nullopt;
    return fuzz_run(target_.machine, *program, setting, target_.rule, draw.seed);
}

std::optional<FuzzRound> FuzzAttack::attempt(const FuzzDraw & draw) {
    FuzzRound round{draw, {}, {}, {}};
    FuzzSetting without = without_rule(), with;
    Random random(draw.seed + 1);
    with.executions = without.executions = random.one_in(4) ? kReplayedExecutions : 1;
    const std::optional<FuzzOutcome> reference = outcome(draw, without, round.mutation);
    if (!reference.has_value() || reference->status != GGML_STATUS_SUCCESS) return std::nullopt;
    const FuzzOutcome fused = *outcome(draw, with, round.mutation);
    round.survey = fused.survey;
    round.difference = fuzz_difference(fused, *reference, target_.tolerance);
    if (!round.difference.empty() || !random.one_in(kPlainEvery)) return round;
    FuzzSetting plain{/*kernels=*/false, /*fusion=*/false, {}, with.executions};
    const FuzzOutcome native = *outcome(draw, plain, round.mutation);
    if (native.status != GGML_STATUS_SUCCESS) return round; // a kernel of several nodes was the only one
    round.difference = fuzz_difference(fused, native, target_.tolerance);
    if (!round.difference.empty()) round.difference += ", as it is without any extension";
    return round;
}

bool FuzzAttack::example_is_good(ext::Verdict & why) {
    const auto plain = FuzzProgram::of_example(target_.build, target_.user_data, why);
    if (plain == nullptr) return false;
    std::string none;
    FuzzSetting with;
    const std::optional<FuzzOutcome> fused = outcome({}, with, none);
    if (!fused.has_value() || fused->survey.fired == 0) {
        const bool said = fused.has_value() && fused->survey.asked;
        return ext::refuse(&why, GGML_EXT_REASON_EXAMPLE_NOT_FUSED, -1, "%s does not fire on its example: %s",
                           target_.rule,
                           said ? fused->survey.verdict.message().c_str() : "it is not asked about any node");
    }
    for (const bool all_fusion : {false, true}) {
        // The same kernel for single nodes is no other opinion on a single node.
        if (all_fusion && fused->survey.fused == 0) break;
        target_.all_fusion = all_fusion;
        const std::optional<FuzzOutcome> reference = outcome({}, without_rule(), none);
        if (reference.has_value() && reference->status == GGML_STATUS_SUCCESS) return true;
    }
    return ext::refuse(&why, GGML_EXT_REASON_NO_NATIVE, -1, "without %s nobody runs its example",
                       target_.rule);
}

std::optional<FuzzRound> FuzzAttack::round(uint64_t seed) {
    for (int i = 0; i < kMostAttempts; ++i) {
        std::optional<FuzzRound> round = attempt(draw_from(i == 0 ? seed : seed_of_part(seed, uint64_t(i))));
        if (round.has_value()) return round;
    }
    return std::nullopt;
}

FuzzRound FuzzAttack::simplified(FuzzRound found) {
    for (size_t i = found.draw.choices.size(); i-- > 0 && found.draw.choices.size() > 1;) {
        FuzzDraw fewer = found.draw;
        fewer.choices.erase(fewer.choices.begin() + ptrdiff_t(i));
        std::optional<FuzzRound> round = attempt(fewer);
        if (round.has_value() && !round->difference.empty()) found = std::move(*round);
    }
    return found;
}

} // namespace ggml::tools
