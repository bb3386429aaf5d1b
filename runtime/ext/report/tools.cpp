// Texts handed to C callers, and traces.
#include "runtime/base/trace.h"
#include "runtime/ext/verdict/guard.h"

#include "ggml-ext-tools.h"

#include <cstdlib>
#include <cstring>

namespace ggml::ext {
namespace {

ggml_ext_reason reason_of(const char * word) {
    for (int i = 0; i < GGML_EXT_REASON_COUNT; ++i) {
        if (std::strcmp(ggml_ext_reason_name(ggml_ext_reason(i)), word) == 0) return ggml_ext_reason(i);
    }
    return GGML_EXT_REASON_NO_MEMORY;
}

ggml_ext_status answer_for(const Status & status, ggml_ext_status otherwise) {
    if (status.ok()) return GGML_EXT_SUCCESS;
    return answer(otherwise, reason_of(status.reason_id), "%s", status.detail.c_str());
}

} // namespace
} // namespace ggml::ext

void ggml_ext_text_free(char * text) { std::free(text); }

ggml_ext_status ggml_ext_trace_begin(const char * file_name) {
    using namespace ggml;
    if (file_name == nullptr) {
        return ext::answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT,
                           "ggml_ext_trace_begin: no file name");
    }
    return ext::guarded("begin a trace",
                        [&] { return ext::answer_for(begin_trace(file_name), GGML_EXT_INVALID); });
}

ggml_ext_status ggml_ext_trace_end(void) {
    using namespace ggml;
    return ext::guarded("end a trace", [&] {
        const Status status = end_trace();
        const bool running = std::strcmp(status.reason_id, "trace.not_running") != 0;
        return ext::answer_for(status, running ? GGML_EXT_FAILED : GGML_EXT_INVALID);
    });
}
