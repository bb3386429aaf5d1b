// One execution of a mutated graph, in a scheduler of its own. Promise: which rule fires, and what every
// tensor holds that may be read afterwards, depend on the program, the setting and the extensions alone.
#pragma once

#include "runtime/ext/verdict/verdict.h"
#include "runtime/tools/fuzz_program.h"

#include <string>
#include <vector>

namespace ggml::tools {

struct FuzzMachine {
    std::vector<ggml_backend_t> backends; // the one under attack first; the CPU last
    ggml_backend_t attacked() const { return backends.front(); }
};

struct FuzzSetting {
    bool kernels = true, fusion = true;
    std::vector<const char *> disabled;
    int executions = 1; // the same inputs are given each time
};

// What planning says about the rule.
struct FuzzSurvey {
    bool planned = false; // every node has somebody to run it
    int fired = 0;        // steps it computes
    int fused = 0;        // of these, of several nodes
    bool asked = false;   // it was considered somewhere and did not fire there
    ext::Verdict verdict; // why not, where it came furthest
    std::string disorder; // a node that was moved before what it needs; empty: none
};

struct FuzzReadout {
    ggml_tensor layout; // name, type, shape and strides
    std::vector<uint8_t> bytes;
    bool lost = false; // has no storage
};

struct FuzzOutcome {
    FuzzSurvey survey;
    ggml_status status = GGML_STATUS_FAILED;
    std::vector<FuzzReadout> readouts; // equally many in the same order for equal programs
};

// Places the program's leafs, plans it and, when that works out, computes it. A program runs once.
FuzzOutcome fuzz_run(const FuzzMachine & machine, FuzzProgram & program, const FuzzSetting & setting,
                     const char * rule, uint64_t seed);

// Empty: the results are the same. Else which tensor and element differ, or what else went wrong.
std::string fuzz_difference(const FuzzOutcome & outcome, const FuzzOutcome & reference,
                            const ggml_ext_tolerance & tolerance);

} // namespace ggml::tools
