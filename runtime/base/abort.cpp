#include "runtime/base/check.h"
#include "runtime/base/text.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::atomic<ggml_abort_callback_t> abort_callback{nullptr};

} // namespace

ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback) {
    return abort_callback.exchange(callback);
}

// No allocation on this path: it also reports that memory is gone.
void ggml_abort(const char * file, int line, const char * fmt, ...) {
    std::fflush(stdout);

    char message[2048];
    int length = std::snprintf(message, sizeof(message), "%s:%d: ", file, line);
    if (length < 0) length = 0;
    if (size_t(length) < sizeof(message)) {
        va_list args;
        va_start(args, fmt);
        std::vsnprintf(message + length, sizeof(message) - size_t(length), fmt, args);
        va_end(args);
    }

    if (const ggml_abort_callback_t callback = abort_callback.load()) {
        callback(message);
    } else {
        std::fprintf(stderr, "%s\n", message);
    }
    std::abort();
}

namespace ggml {

void shape_failure(const char * file, int line, const char * op, const char * reason,
                   std::initializer_list<const ggml_tensor *> operands) {
    std::string shapes;
    for (const ggml_tensor * t : operands) {
        shapes += shapes.empty() ? ": " : ", ";
        shapes += describe_tensor(t);
    }
    ggml_abort(file, line, "%s: %s%s", op, reason, shapes.c_str());
}

} // namespace ggml
