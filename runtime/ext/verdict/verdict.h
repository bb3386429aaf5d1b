// "Yes" or "no, because". Promise: a refusal carries a reason and the numbers behind it; when nobody asks (a
// null pointer) nothing is formatted, copied or allocated. A verdict is a value and never changes the answer.
#pragma once

#include "ggml-ext.h"

#include <string>

// The public handle is the verdict itself, so that callbacks of extensions write where the core reads.
struct ggml_ext_why {
    ggml_ext_reason reason = GGML_EXT_REASON_NONE;
    int node = -1;     // number of the node in the graph that was looked at, -1: none in particular
    int matched = 0;   // of a fusion rule: leading nodes that fitted
    std::string words; // names and numbers, for people

    bool refused() const { return reason != GGML_EXT_REASON_NONE; }
    std::string message() const; // "fusion.external_use: node 5 'x' is also read by 'y'"
};

namespace ggml::ext {

using Verdict = ::ggml_ext_why;

// Notes the refusal where `why` is not null. Returns false, for `return refuse(...)`. node: -1 for none.
GGML_ATTRIBUTE_FORMAT(4, 5)
bool refuse(Verdict * why, ggml_ext_reason reason, int node, const char * format, ...);

// Ends a public call that did not succeed: keeps the verdict as the calling thread's last one and returns the
// status. `log`: also writes one error line, "ggml_ext: <words> (<reason>)".
ggml_ext_status answer(ggml_ext_status status, Verdict verdict, bool log = false);

// The same for a reason with words.
GGML_ATTRIBUTE_FORMAT(3, 4)
ggml_ext_status answer(ggml_ext_status status, ggml_ext_reason reason, const char * format, ...);

} // namespace ggml::ext
