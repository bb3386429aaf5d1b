// A refusal with its reason, for rooms that must explain why a file, graph or registration is not accepted.
// The reason id is a stable word for programs and tests; the detail carries the numbers for people. Never
// thrown.
#pragma once

#include "ggml.h"

#include <string>

namespace ggml {

struct [[nodiscard]] Status {
    ggml_status code = GGML_STATUS_SUCCESS;
    const char * reason_id =
        ""; // static storage, snake_case with its room: "gguf.bad_magic"; empty on success
    std::string detail;

    bool ok() const { return code == GGML_STATUS_SUCCESS; }

    // "gguf.bad_magic: found 0x00000000", or "ok".
    std::string message() const;
};

// GGML_STATUS_FAILED with a printf-style detail. reason_id must outlive the status: pass a literal.
GGML_ATTRIBUTE_FORMAT(2, 3)
Status failure(const char * reason_id, const char * format, ...);

// GGML_STATUS_ALLOC_FAILED for `bytes` that could not be had; `what` names their purpose.
Status out_of_memory(const char * what, size_t bytes);

} // namespace ggml
