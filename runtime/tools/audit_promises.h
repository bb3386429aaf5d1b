// What the flags of a kernel promise, one check for each way to break it. Each makes its own trials and
// starts without recordings, so that what one finds does not depend on the ones before.
#pragma once

#include "runtime/tools/audit_trial.h"

#include <span>
#include <vector>

namespace ggml::tools {

using Promise = void (*)(const AuditRequest & request, Finding & finding);

// In an order in which the first that fails names the cause.
std::span<const Promise> promises();

struct KernelNames {
    std::vector<std::string> safe, unsafe; // capture-safe or not, chosen in this request
    std::vector<std::string> essential;    // of both: nobody else computes what they do
};
KernelNames kernels_in(Trial & trial);

// Repeats a check that failed with other kernels switched off, and says whose fault it is: "a.b", or "one of
// a.b, c.d" where that cannot be told.
std::string culprit(const AuditRequest & request, const KernelNames & kernels, Promise promise);

} // namespace ggml::tools
