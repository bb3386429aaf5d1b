// What a scheduler would do with a mutated graph, before it does it. Promise: nothing is allocated or
// computed.
#pragma once

#include "runtime/sched/sched.h"
#include "runtime/tools/fuzz_run.h"

namespace ggml::tools {

// Does somebody run every node, at the place its storage binds it to?
bool fuzz_is_supported(const FuzzMachine & machine, const FuzzProgram & program);

// Of a scheduler that has just cut the graph.
FuzzSurvey fuzz_survey(sched::Scheduler & sched, const char * rule);

} // namespace ggml::tools
