// The parts of ggml_ext_parity: each step against its reference, then the search for the first step that
// matters to the graph's results.
#pragma once

#include "runtime/sched/sched.h"
#include "runtime/tools/host_copy.h"

#include "ggml-ext-tools.h"

#include <string>
#include <vector>

namespace ggml::tools {

// An extension step as planned.
struct PlannedStep {
    const ext::Kernel * kernel;
    int first, n; // in its split

    bool operator==(const PlannedStep &) const = default;
};

// In the order they run.
std::vector<PlannedStep> planned_steps(const sched::Scheduler & s);

// Executes the graph again and again in schedulers of its own, from the same leafs, with the first so many of
// its steps. `first` is the number of the first that matters, -1: the results are good with all of them.
ggml_ext_status bisect(const sched::Scheduler & s, const ggml_cgraph * graph, const LeafContents & leafs,
                       const ggml_ext_tolerance & tolerance, int & first);

} // namespace ggml::tools
