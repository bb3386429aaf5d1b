#include "base/log.h"

#include <algorithm>
#include <mutex>

namespace sd {
namespace {

struct Sink {
    std::mutex mutex;
    LogSink call = nullptr;
    void * data = nullptr;
};

Sink & sink() {
    // Never destroyed: threads may still log while the program ends.
    static Sink * one = new Sink;
    return *one;
}

} // namespace

void set_log_sink(LogSink call, void * data) {
    const std::lock_guard lock(sink().mutex);
    sink().call = call;
    sink().data = data;
}

void log_line(LogLevel level, const std::string & text) {
    const std::lock_guard lock(sink().mutex);
    if (sink().call == nullptr) return;
    std::string line = text;
    std::replace(line.begin(), line.end(), '\n', ' ');
    sink().call(level, line.c_str(), sink().data);
}

} // namespace sd
