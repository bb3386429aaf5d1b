#include "apps/cli/interrupt.h"

#include <atomic>
#include <csignal>
#include <unistd.h>

namespace cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kBySignal = 128; // as shells report it

// What a handler may touch: lock-free atomics, and functions that only set one or end the process.
std::atomic<sd_ctx_t *> running{nullptr};
std::atomic<int> came{0};
static_assert(std::atomic<sd_ctx_t *>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
    if (came.exchange(number) != 0) ::_exit(kBySignal + number);
    sd_cancel_generation(running.load());
}

} // namespace

Interrupt::Interrupt(sd_ctx_t * ctx) {
    came = 0;
    running = ctx;
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (const int number : kSignals) {
        struct sigaction before = {};
        // What was started to outlive its terminal goes on ignoring its end.
        if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        ::sigaction(number, &action, nullptr);
    }
}

Interrupt::~Interrupt() {
    for (const int number : kSignals) {
        struct sigaction before = {};
        if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        std::signal(number, SIG_DFL);
    }
    running = nullptr;
}

int Interrupt::signal() { return came; }
int Interrupt::exit_status() { return kBySignal + came; }

} // namespace cli
