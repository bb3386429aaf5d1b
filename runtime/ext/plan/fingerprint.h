// One number for everything about a step's nodes that selection and `prepare` may look at.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace ggml::ext {

uint64_t fingerprint(const ggml_ext_step & step) noexcept;

} // namespace ggml::ext
