#include "base/parallel.h"

#include "base/error.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sd {
namespace {

class Team {
  public:
    Team(int64_t parts, const ParallelOptions & options, const std::function<uint64_t(int64_t)> & body)
        : parts_(parts), options_(options), body_(body) {}

    void work() noexcept {
        try {
            for (int64_t i = next_++; i < parts_ && !stop_; i = next_++) {
                if (options_.cancel != nullptr && *options_.cancel)
                    throw Error({"E_CANCELLED", {}, {}, "stopped on request", {}});
                const uint64_t done = body_(i);
                if (!options_.progress) continue;
                const std::lock_guard lock(mutex_);
                options_.progress(done);
            }
        } catch (...) {
            stop_ = true;
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }

    void finish() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    const int64_t parts_;
    const ParallelOptions & options_;
    const std::function<uint64_t(int64_t)> & body_;
    std::atomic<int64_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_; // failure_, and calls of progress
    std::exception_ptr failure_;
};

} // namespace

void parallel_parts(int64_t parts, const ParallelOptions & options,
                    const std::function<uint64_t(int64_t)> & body) {
    const int64_t wanted =
        options.threads > 0 ? options.threads : int64_t(std::max(1u, std::thread::hardware_concurrency()));
    Team team(parts, options, body);
    std::vector<std::jthread> others;
    try {
        while (int64_t(others.size()) + 1 < std::min(wanted, parts))
            others.emplace_back([&] { team.work(); });
    } catch (const std::system_error &) {
        // The system has no more threads: those that started, and this one, do it all.
    }
    team.work();
    others.clear(); // joins
    team.finish();
}

} // namespace sd
