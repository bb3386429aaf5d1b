#include "runtime/ext/replay/recordings.h"

#include "runtime/backend/interface.h"

#include <algorithm>
#include <map>

namespace ggml::ext {
namespace {

struct Backends {
    std::mutex mutex;
    std::map<ggml_backend_t, std::shared_ptr<Recordings>> recordings;
};

// Outlives every static object that may end a backend.
Backends & backends() {
    static Backends & all = *new Backends;
    return all;
}

} // namespace

size_t Recording::workspace_size() const {
    return workspace != nullptr ? ggml_backend_buffer_get_size(workspace->buffer()) : 0;
}

std::shared_ptr<Recordings> Recordings::of(ggml_backend_t backend, bool make) {
    Backends & all = backends();
    const std::lock_guard lock(all.mutex);
    const auto found = all.recordings.find(backend);
    if (found != all.recordings.end()) return found->second;
    if (!make) return nullptr;
    return all.recordings.emplace(backend, std::make_shared<Recordings>(backend)).first->second;
}

void Recordings::end(ggml_backend_t backend) {
    std::shared_ptr<Recordings> recordings;
    {
        Backends & all = backends();
        const std::lock_guard lock(all.mutex);
        const auto found = all.recordings.find(backend);
        if (found == all.recordings.end()) return;
        recordings = std::move(found->second);
        all.recordings.erase(found);
    }
    recordings->release();
}

void Recordings::release() {
    const std::lock_guard lock(mutex_);
    ggml_backend_synchronize(backend_);
    for (List * list : {&held_, &retired_, &doomed_}) {
        free_all(*list);
    }
    ended_.store(true, std::memory_order_release);
}

void Recordings::move(Recording * recording, List & from, List & to) noexcept {
    const auto at =
        std::find_if(from.begin(), from.end(), [recording](const Recording & r) { return &r == recording; });
    to.splice(to.end(), from, at);
}

Recording * Recordings::add(Key && key, std::shared_ptr<Workspace> workspace, bool reusable) {
    const std::lock_guard lock(mutex_);
    return &held_.emplace_back(Recording{std::move(key), std::move(workspace), reusable});
}

Recording * Recordings::adopt(const Key & key) {
    const std::lock_guard lock(mutex_);
    for (Recording & recording : retired_) {
        if (!(recording.key == key)) continue;
        move(&recording, retired_, held_);
        return &recording;
    }
    return nullptr;
}

void Recordings::discard(Recording * recording) noexcept {
    const std::lock_guard lock(mutex_);
    if (ended()) return;
    move(recording, held_, doomed_);
    free_doomed();
}

void Recordings::give_back(Recording * recording) noexcept {
    const std::lock_guard lock(mutex_);
    if (ended()) return;
    if (recording->reusable && recording->workspace_size() <= kMostRetiredBytes) {
        retire(recording);
    } else {
        remember(recording->key,
                 recording->reusable ? GGML_EXT_REASON_REPLAY_EVICTED : GGML_EXT_REASON_REPLAY_NOT_REUSABLE);
        move(recording, held_, doomed_);
    }
    free_doomed();
}

void Recordings::retire(Recording * recording) noexcept {
    // Two equal plans may have lived at the same time; one recording serves their successors.
    for (Recording & old : retired_) {
        if (!(old.key == recording->key)) continue;
        move(&old, retired_, doomed_);
        break;
    }
    move(recording, held_, retired_);
    while (retired_.size() > kMostRetiredPlans || retired_bytes() > kMostRetiredBytes) {
        remember(retired_.front().key, GGML_EXT_REASON_REPLAY_EVICTED);
        move(&retired_.front(), retired_, doomed_);
        ++count.evictions;
    }
}

size_t Recordings::retired_bytes() const noexcept {
    size_t bytes = 0;
    for (auto r = retired_.begin(); r != retired_.end(); ++r) {
        const bool counted = std::any_of(retired_.begin(), r,
                                         [&](const Recording & o) { return o.workspace == r->workspace; });
        if (!counted) bytes += r->workspace_size();
    }
    return bytes;
}

// While the device records, the host may not wait for the stream; what is doomed then goes another time.
void Recordings::free_doomed() noexcept {
    if (doomed_.empty() || recording_now || backend_->iface.replay->is_enclosed(backend_)) return;
    ggml_backend_synchronize(backend_);
    free_all(doomed_);
}

void Recordings::free_all(List & list) noexcept {
    for (const Recording & recording : list) {
        if (recording.handle != nullptr) backend_->iface.replay->free(backend_, recording.handle);
    }
    list.clear();
}

void Recordings::remember(const Key & key, ggml_ext_reason reason) noexcept {
    gone_[n_gone_++ % gone_.size()] = {key.hash(), reason};
}

Difference Recordings::miss(const Key & key, const KeyBuilder & builder) {
    const std::lock_guard lock(mutex_);
    Difference closest;
    const size_t hash = n_gone_ > 0 ? key.hash() : 0;
    for (size_t i = n_gone_; i-- > 0 && n_gone_ - i <= gone_.size();) {
        const Gone & gone = gone_[i % gone_.size()];
        if (gone.hash != hash) continue;
        closest.reason = gone.reason;
        return closest;
    }
    int best = 0;
    for (const Recording & recording : retired_) {
        const Difference difference = first_difference(recording.key, key, builder);
        if (agreement(difference) < std::max(best, 1)) continue;
        best = agreement(difference);
        closest = difference;
    }
    return closest;
}

ReplayCounters Recordings::counters() {
    const std::lock_guard lock(mutex_);
    ReplayCounters all = count;
    all.retired_plans = retired_.size();
    all.retired_bytes = retired_bytes();
    return all;
}

} // namespace ggml::ext
