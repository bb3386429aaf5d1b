#include "runtime/ext/verdict/verdict.h"

#include "runtime/base/text.h"

#include <cstdarg>

namespace ggml::ext {
namespace {

// Noted from callbacks written in C, so memory that runs out costs the words and never throws.
void note(Verdict & verdict, ggml_ext_reason reason, const char * format, va_list args) noexcept {
    verdict.reason = reason;
    try {
        verdict.words = format_text(format, args);
    } catch (...) {
        verdict.words.clear();
    }
}

} // namespace

bool refuse(Verdict * why, ggml_ext_reason reason, int node, const char * format, ...) {
    if (why == nullptr) return false;
    va_list args;
    va_start(args, format);
    note(*why, reason, format, args);
    va_end(args);
    why->node = node;
    return false;
}

} // namespace ggml::ext

std::string ggml_ext_why::message() const {
    const std::string name = ggml_ext_reason_name(reason);
    return name + ": " + (words.empty() ? ggml_ext_reason_text(reason) : words);
}

bool ggml_ext_refuse(ggml_ext_why_t why, const char * format, ...) {
    if (why == nullptr) return false;
    va_list args;
    va_start(args, format);
    ggml::ext::note(*why, GGML_EXT_REASON_CALLBACK, format, args);
    va_end(args);
    return false;
}

int ggml_ext_refuse_match(ggml_ext_why_t why, int n_matched, const char * format, ...) {
    if (why == nullptr) return 0;
    va_list args;
    va_start(args, format);
    ggml::ext::note(*why, GGML_EXT_REASON_CALLBACK, format, args);
    va_end(args);
    why->matched = n_matched;
    return 0;
}
