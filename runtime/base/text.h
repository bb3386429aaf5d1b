// Text of any length, for messages only, never for data.
#pragma once

#include "ggml.h"

#include <cstdarg>
#include <string>

namespace ggml {

// As printf does it. Does not consume `args` for the caller: it copies them. A format the C library rejects
// gives the format itself.
std::string format_text(const char * format, va_list args);

// "f32 [4, 3, 1, 1]"; null is "none".
std::string describe_tensor(const ggml_tensor * t);

} // namespace ggml
