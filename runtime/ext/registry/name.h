// The grammar of registered names: dotted lower-case words, so that names from several vendors sort together,
// need no quoting in logs and fit into an environment variable.
#pragma once

#include "ggml-ext.h"

namespace ggml::ext {

inline constexpr int kMaxNameLength = 127;

// What is wrong with the name, null when nothing is. Operators also end in a version, after a vendor and a
// word: "sd.modulate.v1".
const char * kernel_name_problem(const char * name);
const char * op_name_problem(const char * name);

// The answer to a malformed name; `what` is "operator" or "kernel".
ggml_ext_status refuse_name(const char * what, const char * name, const char * problem);

} // namespace ggml::ext
