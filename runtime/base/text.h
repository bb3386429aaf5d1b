// printf-style text of any length. Used for messages only, never for data.
#pragma once

#include <cstdarg>
#include <string>

namespace ggml {

// Does not consume `args` for the caller: it copies them. A format the C library rejects gives the format
// itself.
std::string format_text(const char * format, va_list args);

} // namespace ggml
