// What the calling thread is told after its call.
#include "runtime/ext/verdict/verdict.h"

#include "runtime/base/log.h"
#include "runtime/base/text.h"

#include <cstdarg>
#include <utility>

namespace ggml::ext {
namespace {

thread_local Verdict last;

// A verdict without words (memory ran out, or the reason says it all) speaks in the reason's sentence.
const char * words_of(const Verdict & verdict) {
    return verdict.words.empty() ? ggml_ext_reason_text(verdict.reason) : verdict.words.c_str();
}

void write_log_line(const Verdict & verdict) noexcept {
    try {
        GGML_LOG_ERROR("ggml_ext: %s (%s)\n", words_of(verdict), ggml_ext_reason_name(verdict.reason));
    } catch (...) {
        // Lines are a service; without memory for one, status and reason still tell.
    }
}

} // namespace

ggml_ext_status answer(ggml_ext_status status, Verdict verdict, bool log) {
    if (status == GGML_EXT_SUCCESS) return status;
    last = std::move(verdict);
    if (log) write_log_line(last);
    return status;
}

ggml_ext_status answer(ggml_ext_status status, ggml_ext_reason reason, const char * format, ...) {
    Verdict verdict;
    verdict.reason = reason;
    va_list args;
    va_start(args, format);
    try {
        verdict.words = format_text(format, args);
    } catch (...) {
        verdict.words.clear();
    }
    va_end(args);
    return answer(status, std::move(verdict));
}

} // namespace ggml::ext

ggml_ext_reason ggml_ext_last_reason() { return ggml::ext::last.reason; }

const char * ggml_ext_last_message() {
    const ggml::ext::Verdict & last = ggml::ext::last;
    return last.refused() ? ggml::ext::words_of(last) : "";
}
