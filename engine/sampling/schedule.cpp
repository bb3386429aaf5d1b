#include "sampling/schedule.h"

#include "base/error.h"
#include "base/trimmed.h"
#include "sampling/choices.h"
#include "sampling/schedulers.h"

#include <cmath>
#include <cstdio>

namespace sd {
namespace {

constexpr SchedulerInfo kSchedulers[] = {
    {"discrete", "normal", nullptr, schedule_discrete},
    {"karras", nullptr, nullptr, schedule_karras},
    {"exponential", nullptr, nullptr, schedule_exponential},
    {"ays", nullptr, "is a table for the noise levels of Stable Diffusion, which this model does not have",
     nullptr},
    {"gits", nullptr, "is a table for the noise levels of Stable Diffusion, which this model does not have",
     nullptr},
    {"sgm_uniform", nullptr, nullptr, schedule_sgm_uniform},
    {"simple", nullptr, nullptr, schedule_simple},
    {"smoothstep", nullptr, nullptr, schedule_smoothstep},
    {"kl_optimal", nullptr, nullptr, schedule_kl_optimal},
    {"lcm", nullptr, nullptr, schedule_lcm},
    {"bong_tangent", nullptr, nullptr, schedule_bong_tangent},
    {"ltx2", nullptr, nullptr, schedule_ltx2},
    {"logit_normal", nullptr, nullptr, schedule_logit_normal},
    {"flux2", nullptr, nullptr, schedule_flux2},
    {"flux", nullptr, nullptr, schedule_flux},
    {"beta", nullptr, nullptr, schedule_beta},
};

[[noreturn]] void refuse(const std::string & what, const std::string & why) {
    throw Error({"E_SCHEDULE", {}, {}, what + ": " + why, {}});
}

std::string level_text(float sigma) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g", double(sigma));
    return text;
}

} // namespace

std::span<const SchedulerInfo> schedulers() { return kSchedulers; }

std::vector<std::string> usable_schedulers() {
    std::vector<std::string> names;
    for (const SchedulerInfo & scheduler : kSchedulers)
        if (scheduler.refusal == nullptr) names.push_back(scheduler.name);
    return names;
}

const SchedulerInfo & find_scheduler(std::string_view name) {
    for (const SchedulerInfo & scheduler : kSchedulers) {
        if (name != scheduler.name && (scheduler.alias == nullptr || name != scheduler.alias)) continue;
        if (scheduler.refusal == nullptr) return scheduler;
        refuse_choice("scheduler", name, scheduler.refusal, usable_schedulers());
    }
    refuse_choice("scheduler", name, {}, usable_schedulers());
}

Sigmas make_schedule(std::string_view name, const ScheduleRequest & request) {
    const SchedulerInfo & scheduler = find_scheduler(name);
    if (request.steps < 1 || request.steps > kMostSteps)
        refuse("steps",
               std::to_string(request.steps) + " is no number from 1 to " + std::to_string(kMostSteps));
    Sigmas sigmas = scheduler.make(request);
    check_sigmas(sigmas, std::string("scheduler ") + scheduler.name);
    return sigmas;
}

void check_sigmas(const Sigmas & sigmas, const std::string & what) {
    if (sigmas.size() < 2) refuse(what, "a schedule needs two noise levels at least");
    for (size_t i = 0; i < sigmas.size(); ++i) {
        const std::string level = "noise level " + std::to_string(i + 1) + ", " + level_text(sigmas[i]) + ",";
        if (!(sigmas[i] >= 0.0f && sigmas[i] <= 1.0f)) refuse(what, level + " is not from 0 to 1");
        if (i > 0 && !(sigmas[i] < sigmas[i - 1]))
            refuse(what, level + " is not below the one before, " + level_text(sigmas[i - 1]));
    }
}

Sigmas parse_sigmas(std::string_view text) {
    std::string_view rest = trimmed(text);
    if (rest.starts_with('[') && rest.ends_with(']') && rest.size() >= 2)
        rest = rest.substr(1, rest.size() - 2);
    Sigmas sigmas;
    while (true) {
        const size_t end = rest.find(',');
        const std::string_view entry = trimmed(rest.substr(0, end));
        const std::optional<double> value = finite_number(entry);
        if (!value) refuse("sigmas", in_quotes(entry, 40) + " is no number");
        sigmas.push_back(float(*value));
        if (sigmas.size() > size_t(kMostSteps) + 1)
            refuse("sigmas", "there are more than " + std::to_string(kMostSteps + 1));
        if (end == std::string_view::npos) break;
        rest.remove_prefix(end + 1);
    }
    check_sigmas(sigmas, "sigmas");
    return sigmas;
}

} // namespace sd
