// The public legality fuzzer: arguments, the machine, the rounds.
#include "runtime/backend/interface.h"
#include "runtime/ext/registry/registry.h"
#include "runtime/ext/verdict/guard.h"
#include "runtime/tools/compare.h"
#include "runtime/tools/fuzz_attack.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace ggml::tools {
namespace {

using Clock = std::chrono::steady_clock;

const ext::Kernel * registered(ggml_backend_dev_t device, const char * name) {
    const ext::DeviceKernels * kernels = ext::kernels_of(device);
    if (kernels == nullptr) return nullptr;
    const auto all = kernels->all();
    const auto found =
        std::find_if(all.begin(), all.end(), [name](const ext::Kernel * k) { return k->name == name; });
    return found == all.end() ? nullptr : *found;
}

// Empty: the arguments are good.
ext::Verdict check_arguments(ggml_backend_t backend, const char * rule, ggml_ext_build_t build,
                             const ggml_ext_fuzz_options * options, const ggml_ext_fuzz_result * result) {
    ext::Verdict why;
    if (backend == nullptr || rule == nullptr || build == nullptr || options == nullptr ||
        result == nullptr) {
        ext::refuse(&why, GGML_EXT_REASON_NULL_ARGUMENT, -1, "ggml_ext_fuzz_rule: an argument is NULL");
    } else if (options->struct_size != sizeof(*options)) {
        ext::refuse(&why, GGML_EXT_REASON_STRUCT_SIZE, -1, "ggml_ext_fuzz_options of %zu bytes, not %zu",
                    options->struct_size, sizeof(*options));
    } else if (!makes_sense(options->tolerance, &why)) {
        return why;
    } else if (options->rounds <= 0 && !(options->max_seconds > 0)) {
        ext::refuse(&why, GGML_EXT_REASON_FUZZ_ENDLESS, -1, "%d rounds and %g seconds", options->rounds,
                    options->max_seconds);
    } else if (registered(backend->device, rule) == nullptr) {
        ext::refuse(&why, GGML_EXT_REASON_EXAMPLE_NOT_FUSED, -1, "%s has no kernel or rule %s",
                    ggml_backend_name(backend), rule);
    }
    return why;
}

// The device under attack, and the CPU for what it does not run.
struct Backends {
    explicit Backends(ggml_backend_t attacked) : machine{{attacked}} {
        if (ggml_backend_dev_type(attacked->device) == GGML_BACKEND_DEVICE_TYPE_CPU) return;
        cpu.reset(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
        if (cpu != nullptr) machine.backends.push_back(cpu.get());
    }
    ggml_backend_ptr cpu;
    FuzzMachine machine;
};

void report(const FuzzRound & round, uint64_t seed, ggml_ext_fuzz_result & result) {
    result.found = true;
    result.seed = seed;
    std::snprintf(result.mutation, sizeof(result.mutation), "%s", round.mutation.c_str());
    std::snprintf(result.message, sizeof(result.message), "%s", round.difference.c_str());
}

ggml_ext_status attack(const FuzzTarget & target, const ggml_ext_fuzz_options & options,
                       ggml_ext_fuzz_result & result) {
    FuzzAttack attack(target);
    ext::Verdict why;
    if (!attack.example_is_good(why)) return ext::answer(GGML_EXT_REFUSED, std::move(why));
    const Clock::time_point start = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    for (int i = 0; options.rounds <= 0 || i < options.rounds; ++i) {
        if (options.max_seconds > 0 && seconds() >= options.max_seconds) break;
        // The first round is the seed's own, so that a seed that found something finds it again.
        const uint64_t seed = i == 0 ? options.seed : seed_of_part(options.seed, uint64_t(i));
        const std::optional<FuzzRound> round = attack.round(seed);
        if (!round.has_value()) continue;
        ++result.rounds;
        result.fired += round->survey.fired > 0;
        result.refused += round->survey.fired == 0 && round->survey.asked;
        if (round->difference.empty()) continue;
        report(attack.simplified(*round), seed, result);
        break;
    }
    return GGML_EXT_SUCCESS;
}

} // namespace
} // namespace ggml::tools

ggml_ext_status ggml_ext_fuzz_rule(ggml_backend_t backend, const char * rule, ggml_ext_build_t build,
                                   void * user_data, const ggml_ext_fuzz_options * options,
                                   ggml_ext_fuzz_result * result) {
    using namespace ggml;
    ext::Verdict why = tools::check_arguments(backend, rule, build, options, result);
    if (why.refused()) return ext::answer(GGML_EXT_INVALID, std::move(why));
    *result = {};
    return ext::guarded("attack a rule", [&] {
        tools::Backends backends(backend);
        tools::FuzzTarget target{backends.machine, rule, build, user_data, options->tolerance};
        return tools::attack(target, *options, *result);
    });
}
