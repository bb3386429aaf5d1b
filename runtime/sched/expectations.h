// What the caller expects of each graph. Promise: a breach is named with what happened instead and why;
// without expectations nothing is looked at.
#pragma once

#include "ggml-ext-tools.h"

#include <string>

struct ggml_backend_sched;

namespace ggml::sched {

struct Expectation {
    ggml_ext_expectation_kind kind;
    std::string nodes; // a pattern; "*" for all
    std::string name;
    int count;
    bool is_error;
    bool warned = false; // about the allocated graph
};

// * stands for any characters, ? for one.
bool matches_pattern(const char * text, const char * pattern);

// Plans the graph that is about to be allocated and looks at DEVICE, KERNEL and FUSION. False: planning
// failed, or an error is among the breaches, which are all logged; the first error is the thread's last
// message.
[[nodiscard]] bool split_as_expected(ggml_backend_sched & s, ggml_cgraph * graph);

// After an execution: REPLAY.
[[nodiscard]] bool meets_replay_expectations(ggml_backend_sched & s);

} // namespace ggml::sched
