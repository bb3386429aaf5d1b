// Noise levels of the steps of a picture. Every schedule that leaves here is finite, strictly decreasing, at
// most 1 and at least 0, and has two entries or more: samplers divide by levels and by their differences.
#pragma once

#include "sampling/flow.h"
#include "sampling/key_values.h"

#include <span>
#include <string_view>
#include <vector>

namespace sd {

using Sigmas = std::vector<float>; // steps + 1 entries

constexpr int kMostSteps = 10000;

struct ScheduleRequest {
    int steps = 20;
    int64_t latent_width = 0, latent_height = 0; // of the latent image, pixels / 8; for what depends on size
    Flow flow = Flow();
    KeyValues extra;
};

struct SchedulerInfo {
    const char * name;
    const char * alias;   // null: none
    const char * refusal; // why flow models cannot use it; null: they can
    Sigmas (*make)(const ScheduleRequest &);
};

// All schedulers, the refused ones too.
std::span<const SchedulerInfo> schedulers();
std::vector<std::string> usable_schedulers();

// Name or alias. Throws Error for what is unknown or refused, listing the usable ones.
const SchedulerInfo & find_scheduler(std::string_view name);

// At most steps + 1 entries, the last 0. Fewer where rounding to the training schedule makes steps coincide.
// Throws Error, also for step counts outside 1 to kMostSteps.
Sigmas make_schedule(std::string_view name, const ScheduleRequest & request);

// "a,b,c", with or without brackets. The last entry need not be 0.
Sigmas parse_sigmas(std::string_view text);

// Throws unless what is promised above holds. `what` begins the message.
void check_sigmas(const Sigmas & sigmas, const std::string & what);

} // namespace sd
