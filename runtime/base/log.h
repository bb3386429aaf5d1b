// Log lines of the runtime. Every line goes to the callback set by ggml_log_set, or to stderr when none is
// set. Never used for results and never required for correctness. Throws nothing, so that it can also say
// that memory has run out: a long line then loses its end, and what the callback throws ends here.
#pragma once

#include "ggml.h"

namespace ggml {

GGML_ATTRIBUTE_FORMAT(2, 3)
void log(ggml_log_level level, const char * format, ...);

} // namespace ggml

#define GGML_LOG_DEBUG(...) ::ggml::log(GGML_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define GGML_LOG_INFO(...) ::ggml::log(GGML_LOG_LEVEL_INFO, __VA_ARGS__)
#define GGML_LOG_WARN(...) ::ggml::log(GGML_LOG_LEVEL_WARN, __VA_ARGS__)
#define GGML_LOG_ERROR(...) ::ggml::log(GGML_LOG_LEVEL_ERROR, __VA_ARGS__)
