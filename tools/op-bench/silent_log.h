// While one of these lives, the runtime logs nothing: what it would log is an answer here, which is passed on
// in other words.
#pragma once

#include "ggml.h"

namespace op_bench {

struct SilentLog {
    SilentLog() {
        ggml_log_get(&callback, &user_data);
        ggml_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    }
    ~SilentLog() { ggml_log_set(callback, user_data); }
    SilentLog(const SilentLog &) = delete;
    SilentLog & operator=(const SilentLog &) = delete;

    ggml_log_callback callback = nullptr;
    void * user_data = nullptr;
};

} // namespace op_bench
