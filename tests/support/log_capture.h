// Collects log lines while it lives, so that a test can say what was, or was not, reported.
#pragma once

#include "ggml.h"

#include <string>

namespace ggml::test {

class LogCapture {
  public:
    LogCapture() {
        ggml_log_get(&previous_, &previous_data_);
        ggml_log_set(collect, this);
    }
    ~LogCapture() { ggml_log_set(previous_, previous_data_); }
    LogCapture(const LogCapture &) = delete;
    LogCapture & operator=(const LogCapture &) = delete;

    std::string text;

  private:
    static void collect(ggml_log_level, const char * line, void * self) {
        static_cast<LogCapture *>(self)->text += line;
    }
    ggml_log_callback previous_ = nullptr;
    void * previous_data_ = nullptr;
};

} // namespace ggml::test
