// Spreads a model's blocks over the devices it computes on.
#pragma once

#include "nn/weights.h"
#include "pipeline/runner.h"

#include <string>
#include <vector>

namespace sd {

// By the memory that is free on each runner's device, and says what is where. what: for that line. Changes
// nothing where there is one device. The weights are described and not loaded; the runners are of their
// memory.
void spread_blocks(Weights & weights, const std::vector<Runner *> & runners, const std::string & what);

} // namespace sd
