#include "base/log.h"

#include "stable-diffusion.h"

#include <mutex>

namespace {

struct Callback {
    sd_log_cb_t call = nullptr;
    void * data = nullptr;
};

// Read by the sink below only, and changed while there is no sink.
Callback callback;

void pass_on(sd::LogLevel level, const char * text, void *) {
    callback.call(sd_log_level_t(int(level)), text, callback.data);
}

} // namespace

extern "C" void sd_set_log_callback(sd_log_cb_t call, void * data) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    // No line is on its way through the old callback once the sink is gone.
    sd::set_log_sink(nullptr, nullptr);
    callback = {call, data};
    if (call != nullptr) sd::set_log_sink(pass_on, nullptr);
}
