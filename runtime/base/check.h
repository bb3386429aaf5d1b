// Checks of what a caller hands to the graph API. A wrong shape is the caller's mistake and ggml's API has no
// way to return it, so it stops through ggml_abort (which applications may intercept) and always names the
// operator and the shapes involved. Never used for files, requests or registrations: those get a status.
#pragma once

#include "ggml.h"

#include <initializer_list>

namespace ggml {

// Prints "OP: REASON: f32 [4, 3, 1, 1], f16 [5, 1, 1, 1]" through ggml_abort. Null operands print as "none".
[[noreturn]] void shape_failure(const char * file, int line, const char * op, const char * reason,
                                std::initializer_list<const ggml_tensor *> operands);

} // namespace ggml

// GGML_SHAPE_CHECK(cond, "ggml_add", "b does not repeat into a", a, b)
#define GGML_SHAPE_CHECK(cond, op, reason, ...)                                                              \
    do {                                                                                                     \
        if (!(cond)) ::ggml::shape_failure(__FILE__, __LINE__, op, reason, {__VA_ARGS__});                   \
    } while (0)
