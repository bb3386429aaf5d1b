// The recordings of one backend: those that plans hold and those that outlived their plan. Promise: nothing
// is freed while it may still run; what is retired stays within kMostRetiredPlans and kMostRetiredBytes,
// oldest first to go; after the backend's end nobody reaches it from here.
#pragma once

#include "runtime/ext/replay/difference.h"
#include "runtime/ext/replay/key.h"
#include "runtime/ext/replay/replay.h"

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>

namespace ggml::ext {

struct Recording {
    Key key;
    std::shared_ptr<Workspace> workspace; // whose address is in the recorded work; may be null
    bool reusable = false;
    void * handle = nullptr; // the device's; null until it is recorded

    size_t workspace_size() const;
};

class Recordings {
  public:
    // The backend's, made when they are first asked for. Null where `make` is false and there are none.
    static std::shared_ptr<Recordings> of(ggml_backend_t backend, bool make);
    // Waits, frees everything and forgets the backend.
    static void end(ggml_backend_t backend);

    explicit Recordings(ggml_backend_t backend) : backend_(backend) {}

    // The backend has ended, or its recordings were released: plans start again without what they had.
    bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

    // Recordings that plans hold stay where they are until they are given back.
    Recording * add(Key && key, std::shared_ptr<Workspace> workspace, bool reusable);
    Recording * adopt(const Key & key); // null: none is equal

    // The plan gives it back: to serve later plans where it may, else to be freed.
    void give_back(Recording * recording) noexcept;
    void discard(Recording * recording) noexcept;

    // Why nothing could be adopted: the difference to the closest retired recording, what became of an equal
    // one, or nothing at all.
    Difference miss(const Key & key, const KeyBuilder & builder);

    ReplayCounters counters(); // what is retired is filled in
    ReplayCounters count;      // by the plan that runs

    // The device records, so nobody may wait for it.
    std::atomic<bool> recording_now = false;

  private:
    using List = std::list<Recording>;
    void move(Recording * recording, List & from, List & to) noexcept;
    void retire(Recording * recording) noexcept;
    void remember(const Key & key, ggml_ext_reason reason) noexcept;
    size_t retired_bytes() const noexcept;
    void free_doomed() noexcept;
    void free_all(List & list) noexcept;
    void release();

    ggml_backend_t backend_;
    std::atomic<bool> ended_ = false;
    std::mutex mutex_;             // of the lists; plans of one backend may end on any thread
    List held_, retired_, doomed_; // retired: oldest first
    // What became of recordings that are gone, for the words of a miss only.
    struct Gone {
        size_t hash;
        ggml_ext_reason reason;
    };
    std::array<Gone, 2 * kMostRetiredPlans> gone_ = {};
    size_t n_gone_ = 0;
};

} // namespace ggml::ext
