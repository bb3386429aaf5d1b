// What unfinished work is about, as digests.
#pragma once

#include "quantize/journal.h"
#include "quantize/plan.h"
#include "quantize/quantize.h"

namespace sd {

// Inputs: names of the files without their folders, sizes, times of change, and what their headers say. A
// file that cannot be looked at is an Error.
uint64_t digest_of(const Checkpoint & checkpoint);

// Of layers with candidates, what their errors come from.
JournalIdentity identity_of(const Checkpoint & checkpoint, const std::vector<ChosenLayer> & layers,
                            const QuantizeRequest & request);

// Of the plan everything that its bytes come from.
JournalIdentity identity_of(const Checkpoint & checkpoint, const QuantizePlan & plan,
                            const QuantizeRequest & request);

} // namespace sd
