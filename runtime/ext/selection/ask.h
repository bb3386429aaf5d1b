// Calling `supports` and `preferred`. Promise: a callback that asks the public capability query about its own
// device and operator gets "no" instead of asking itself forever, and is treated as a refusal.
#pragma once

#include "runtime/ext/registry/registry.h"
#include "runtime/ext/verdict/verdict.h"

namespace ggml::ext {

bool ask_supports(const Kernel & kernel, const ggml_tensor * node, Verdict * why);
bool ask_preferred(const Kernel & kernel, const ggml_tensor * node, Verdict * why);

// Is the calling thread inside a callback about this device and operator? Notes that it asked.
bool asks_itself(ggml_backend_dev_t device, const ggml_tensor * node) noexcept;

} // namespace ggml::ext
