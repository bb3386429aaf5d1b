#include "runtime/base/log.h"

#include "runtime/base/text.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace {

void log_to_stderr(ggml_log_level, const char * text, void *) {
    std::fputs(text, stderr);
    std::fflush(stderr);
}

struct LogSink {
    ggml_log_callback callback = log_to_stderr;
    void * user_data = nullptr;
};

// Callback and user data belong together, so they are exchanged under a lock; the call happens outside of it,
// which lets a callback log or replace itself.
std::mutex sink_mutex;
LogSink sink;

LogSink current_sink() {
    std::lock_guard lock(sink_mutex);
    return sink;
}

// Empty when there is no memory for all of it.
std::string whole_line(const char * format, va_list args) {
    try {
        return ggml::format_text(format, args);
    } catch (...) {
        return {};
    }
}

} // namespace

namespace ggml {

void log(ggml_log_level level, const char * format, ...) {
    char start[512] = {}; // enough for most lines, and for those that say that memory has run out
    va_list args;
    va_start(args, format);
    const int length = std::vsnprintf(start, sizeof(start), format, args);
    va_end(args);
    const LogSink to = current_sink();
    try {
        std::string whole;
        if (length < 0 || size_t(length) >= sizeof(start)) {
            va_start(args, format);
            whole = whole_line(format, args);
            va_end(args);
        }
        to.callback(level, whole.empty() ? start : whole.c_str(), to.user_data);
    } catch (...) {
        // A line is a service: what the callback could not take is lost, and the caller goes on.
    }
}

} // namespace ggml

void ggml_log_get(ggml_log_callback * log_callback, void ** user_data) {
    const LogSink now = current_sink();
    *log_callback = now.callback;
    *user_data = now.user_data;
}

void ggml_log_set(ggml_log_callback log_callback, void * user_data) {
    std::lock_guard lock(sink_mutex);
    sink = {log_callback ? log_callback : log_to_stderr, user_data};
}
