#include "runtime/base/text.h"

#include <cstdio>

namespace ggml {

std::string format_text(const char * format, va_list args) {
    va_list measured;
    va_copy(measured, args);
    const int length = std::vsnprintf(nullptr, 0, format, measured);
    va_end(measured);
    if (length < 0) return format;

    std::string text(size_t(length), '\0');
    va_list printed;
    va_copy(printed, args);
    std::vsnprintf(text.data(), text.size() + 1, format, printed);
    va_end(printed);
    return text;
}

std::string describe_tensor(const ggml_tensor * t) {
    if (t == nullptr) return "none";
    std::string text = ggml_type_name(t->type);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) text += (i == 0 ? " [" : ", ") + std::to_string(t->ne[i]);
    return text + "]";
}

} // namespace ggml
