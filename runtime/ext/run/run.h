// Executing a plan. Promise: steps run in order; the first failure wins, is logged with the step's name and
// returned; nothing is retried or tried another way after a launch.
#pragma once

#include "runtime/ext/plan/plan.h"
#include "runtime/ext/workspace/workspace.h"

namespace ggml::ext {

// recording: the device records the work, so nothing may wait for it and the guards of the workspace say
// nothing.
enum class RunMode { ordinary, recording };

// All steps. workspace may be null when the plan needs none.
ggml_status run(const Plan & plan, const Workspace * workspace, Verdict * why,
                RunMode mode = RunMode::ordinary);

// The steps that compute nodes [first, first + n) of the plan's graph; native ranges are cut where needed.
// The range must not cut a fused step.
ggml_status run_range(const Plan & plan, const Workspace * workspace, int first, int n, Verdict * why);

} // namespace ggml::ext
