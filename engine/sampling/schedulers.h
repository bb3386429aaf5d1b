// The rules behind the names, for schedule.cpp. Steps are in range when these are called; the results are
// checked afterwards.
#pragma once

#include "sampling/schedule.h"

namespace sd {

// By places in the training schedule (schedule_places.cpp).
Sigmas schedule_discrete(const ScheduleRequest & request);
Sigmas schedule_sgm_uniform(const ScheduleRequest & request);
Sigmas schedule_simple(const ScheduleRequest & request);
Sigmas schedule_smoothstep(const ScheduleRequest & request);
Sigmas schedule_lcm(const ScheduleRequest & request);
Sigmas schedule_beta(const ScheduleRequest & request);

// By formulas between the largest and the smallest level (schedule_curves.cpp).
Sigmas schedule_karras(const ScheduleRequest & request);
Sigmas schedule_exponential(const ScheduleRequest & request);
Sigmas schedule_kl_optimal(const ScheduleRequest & request);
Sigmas schedule_bong_tangent(const ScheduleRequest & request);

// With shifts of their own instead of the request's (schedule_shifts.cpp).
Sigmas schedule_ltx2(const ScheduleRequest & request);
Sigmas schedule_flux(const ScheduleRequest & request);
Sigmas schedule_flux2(const ScheduleRequest & request);
Sigmas schedule_logit_normal(const ScheduleRequest & request);

} // namespace sd
