#include "runtime/base/status.h"

#include "runtime/base/text.h"

#include <cstdarg>

namespace ggml {

std::string Status::message() const {
    if (ok()) return "ok";
    return detail.empty() ? std::string(reason_id) : std::string(reason_id) + ": " + detail;
}

Status failure(const char * reason_id, const char * format, ...) {
    va_list args;
    va_start(args, format);
    std::string detail = format_text(format, args);
    va_end(args);
    return {GGML_STATUS_FAILED, reason_id, std::move(detail)};
}

Status out_of_memory(const char * what, size_t bytes) {
    return {GGML_STATUS_ALLOC_FAILED, "out_of_memory", std::to_string(bytes) + " bytes for " + what};
}

} // namespace ggml

const char * ggml_status_to_string(ggml_status status) {
    switch (status) {
    case GGML_STATUS_ALLOC_FAILED: return "error: out of memory";
    case GGML_STATUS_FAILED: return "error: operation failed";
    case GGML_STATUS_SUCCESS: return "success";
    case GGML_STATUS_ABORTED: return "aborted by callback";
    }
    return "unknown status";
}
