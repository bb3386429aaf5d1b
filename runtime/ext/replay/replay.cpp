#include "runtime/ext/replay/replay.h"

#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/base/trace.h"
#include "runtime/ext/replay/recordings.h"
#include "runtime/ext/run/run.h"

#include <new>

namespace ggml::ext {
namespace {

// A plan that failed this often is not recorded again before something about it changes, so that a device
// that cannot record it costs some failed executions and not every second one.
constexpr int kMostFailures = 2;

// What last_miss says, before it is put into words.
struct Miss {
    Difference difference;
    const Kernel * kernel = nullptr;
};

// A recording under way. Ended and dropped, however it is left, unless it was kept.
class OpenRecording {
  public:
    OpenRecording(ggml_backend_t backend, Recordings & recordings)
        : backend_(backend), recordings_(recordings) {
        recordings_.recording_now = true;
    }
    ~OpenRecording() {
        void * none = nullptr;
        if (open_) backend_->iface.replay->end(backend_, false, &none);
        recordings_.recording_now = false;
    }
    OpenRecording(const OpenRecording &) = delete;
    OpenRecording & operator=(const OpenRecording &) = delete;

    ggml_status keep(void ** handle) {
        open_ = false;
        const ggml_status status = backend_->iface.replay->end(backend_, true, handle);
        return status == GGML_STATUS_SUCCESS && *handle == nullptr ? GGML_STATUS_FAILED : status;
    }

  private:
    ggml_backend_t backend_;
    Recordings & recordings_;
    bool open_ = true;
};

const Kernel * first_without(const Plan & plan, uint32_t flag) {
    for (const Step & step : plan.steps) {
        if (step.kernel != nullptr && (step.kernel->call.flags & flag) == 0) return step.kernel;
    }
    return nullptr;
}

TraceWords words_for(const char * what, ggml_backend_t backend, int n_nodes) {
    return {what, ggml_backend_name(backend), nullptr, n_nodes};
}

bool is_reusable(const Plan & plan) { return !plan.has_extensions || plan.replay_reusable; }

} // namespace

struct Replay::State {
    enum class Phase { cold, warm, captured };

    ~State() { forget(true); }

    ggml_ext_reason obstacle(const Plan & plan, bool enabled);
    void follow_backend(ggml_backend_t backend);
    void check_stale(const Workspace * workspace);
    void forget(bool may_serve_others) noexcept;
    void note_first_execution(const Plan & plan);
    ggml_status warm_up(const Plan & plan, const std::shared_ptr<Workspace> & workspace, Verdict * why);
    ggml_status capture(const Plan & plan, const std::shared_ptr<Workspace> & workspace, Verdict * why);
    ggml_status record(const Plan & plan, const Workspace * workspace, void ** handle, Verdict * why);
    ggml_status launch(Verdict * why);
    void failed(ggml_ext_reason reason);
    void note(ggml_ext_reason reason, const Kernel * kernel = nullptr);

    Phase phase = Phase::cold;
    std::shared_ptr<Recordings> recordings; // of the backend
    ggml_backend_t backend = nullptr;       // theirs, good until they have ended
    KeyBuilder builder;
    Key fresh, warm;                    // of this execution; of the one that warmed up
    Recording * recording = nullptr;    // captured: lies in `recordings`, holds its own key
    const Workspace * passed = nullptr; // the scheduler's when it was warmed up or recorded
    bool adopted = false;               // works in the workspace it brought, whatever is passed
    bool lost = false;                  // in this execution it turned out that the recording does not fit
    int failures = 0;                   // since the last launch or change

    Miss miss;
    Verdict verdict;
    bool verdict_is_current = true;
};

void Replay::State::note(ggml_ext_reason reason, const Kernel * kernel) {
    miss.difference = {};
    miss.difference.reason = reason;
    miss.kernel = kernel;
}

// Why this execution cannot have to do with recordings. What was recorded stays.
ggml_ext_reason Replay::State::obstacle(const Plan & plan, bool enabled) {
    const ggml_backend_replay_i * device = plan.backend->iface.replay;
    if (!enabled) return GGML_EXT_REASON_REPLAY_OFF;
    if (device == nullptr) return GGML_EXT_REASON_REPLAY_NO_DEVICE;
    if (!device->enabled(plan.backend)) return GGML_EXT_REASON_REPLAY_OFF;
    if (!device->stable_addresses(plan.backend)) return GGML_EXT_REASON_REPLAY_ADDRESSES;
    if (plan.has_extensions && !plan.capture_safe) return GGML_EXT_REASON_REPLAY_KERNEL;
    if (device->is_enclosed(plan.backend)) return GGML_EXT_REASON_REPLAY_ENCLOSED;
    return GGML_EXT_REASON_NONE;
}

void Replay::State::follow_backend(ggml_backend_t now) {
    if (recordings != nullptr && backend == now && !recordings->ended()) return;
    forget(true);
    recordings = Recordings::of(now, true);
    backend = now;
}

// The plan lets go of its recording and starts again.
void Replay::State::forget(bool may_serve_others) noexcept {
    if (recording != nullptr && !recordings->ended()) {
        may_serve_others ? recordings->give_back(recording) : recordings->discard(recording);
    }
    recording = nullptr;
    phase = Phase::cold;
    adopted = false;
}

// Is this execution what the plan was warmed up or recorded for? If not, says why and makes it cold.
void Replay::State::check_stale(const Workspace * workspace) {
    lost = false;
    if (phase == Phase::cold) return;
    const Key & known = phase == Phase::captured ? recording->key : warm;
    const bool moved = !adopted && workspace != passed;
    if (!moved && known == fresh) return;
    miss.difference = first_difference(known, fresh, builder);
    if (miss.difference.reason == GGML_EXT_REASON_NONE) {
        miss.difference.reason = GGML_EXT_REASON_REPLAY_NEW_ADDRESS;
        miss.difference.what = "workspace";
        miss.difference.was = uint64_t(reinterpret_cast<uintptr_t>(passed));
        miss.difference.is = uint64_t(reinterpret_cast<uintptr_t>(workspace));
    }
    lost = phase == Phase::captured;
    // With the same key but another workspace it would be found again at once, and keep the old one alive.
    forget(!(moved && known == fresh));
    failures = 0;
}

void Replay::State::note_first_execution(const Plan & plan) {
    if (miss.difference.reason != GGML_EXT_REASON_NONE) return; // it had been another one's
    miss.difference = recordings->miss(fresh, builder);
    if (miss.difference.reason == GGML_EXT_REASON_NONE) miss.difference.reason = GGML_EXT_REASON_REPLAY_COLD;
    if (miss.difference.reason == GGML_EXT_REASON_REPLAY_NOT_REUSABLE)
        miss.kernel = first_without(plan, GGML_EXT_KERNEL_REPLAY_REUSABLE);
}

ggml_status Replay::State::warm_up(const Plan & plan, const std::shared_ptr<Workspace> & workspace,
                                   Verdict * why) {
    const TraceScope scope("replay", [&] { return words_for("warm up", backend, plan.graph.n_nodes); });
    note_first_execution(plan);
    if (lost) {
        GGML_LOG_DEBUG("ggml_ext: a recording of %d nodes on %s does not fit any more: %s\n",
                       plan.graph.n_nodes, ggml_backend_name(backend),
                       ggml_ext_reason_name(miss.difference.reason));
    }
    const ggml_status status = ext::run(plan, workspace.get(), why);
    if (status != GGML_STATUS_SUCCESS) return status;
    ++recordings->count.warmups;
    std::swap(warm, fresh);
    passed = workspace.get();
    phase = Phase::warm;
    return status;
}

void Replay::State::failed(ggml_ext_reason reason) {
    note(reason);
    ++failures;
    forget(false);
}

ggml_status Replay::State::launch(Verdict * why) {
    const TraceScope scope("replay",
                           [&] { return words_for("replay", backend, int(recording->key.n_nodes)); });
    const ggml_status status = backend->iface.replay->launch(backend, recording->handle);
    if (status == GGML_STATUS_SUCCESS) {
        failures = 0;
        return status;
    }
    refuse(why, GGML_EXT_REASON_REPLAY_FAILED, -1, "a recording of %u nodes on %s: %s",
           recording->key.n_nodes, ggml_backend_name(backend), ggml_status_to_string(status));
    failed(GGML_EXT_REASON_REPLAY_FAILED);
    return status;
}

ggml_status Replay::State::record(const Plan & plan, const Workspace * workspace, void ** handle,
                                  Verdict * why) {
    const char * what = "begin";
    ggml_status status = backend->iface.replay->begin(backend);
    if (status == GGML_STATUS_SUCCESS) {
        OpenRecording open(backend, *recordings);
        status = ext::run(plan, workspace, why, RunMode::recording);
        if (status != GGML_STATUS_SUCCESS) return status; // with the step's own reason
        what = "end";
        status = open.keep(handle);
    }
    if (status != GGML_STATUS_SUCCESS) {
        refuse(why, GGML_EXT_REASON_REPLAY_CAPTURE_FAILED, -1, "%s of a recording of %d nodes on %s: %s",
               what, plan.graph.n_nodes, ggml_backend_name(backend), ggml_status_to_string(status));
    }
    return status;
}

ggml_status Replay::State::capture(const Plan & plan, const std::shared_ptr<Workspace> & workspace,
                                   Verdict * why) {
    const TraceScope scope("replay", [&] { return words_for("capture", backend, plan.graph.n_nodes); });
    // Its place comes first: what the device has made must not get lost for want of memory.
    recording = recordings->add(std::move(fresh), workspace, is_reusable(plan));
    ggml_status status = GGML_STATUS_FAILED;
    try {
        status = record(plan, workspace.get(), &recording->handle, why);
    } catch (...) {
        failed(GGML_EXT_REASON_REPLAY_CAPTURE_FAILED);
        throw;
    }
    if (status != GGML_STATUS_SUCCESS) {
        failed(GGML_EXT_REASON_REPLAY_CAPTURE_FAILED);
        return status;
    }
    ++recordings->count.captures;
    phase = Phase::captured;
    note(GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    GGML_LOG_DEBUG("ggml_ext: %d nodes on %s are replayed from now on\n", plan.graph.n_nodes,
                   ggml_backend_name(backend));
    return launch(why);
}

Replay::Replay() : state_(std::make_unique<State>()) {}
Replay::~Replay() = default;
Replay::Replay(Replay &&) noexcept = default;
Replay & Replay::operator=(Replay &&) noexcept = default;

ggml_status Replay::run(const Plan & plan, const std::shared_ptr<Workspace> & workspace, bool enabled,
                        Verdict * why) {
    State & s = *state_;
    s.verdict_is_current = false;
    const ggml_ext_reason obstacle = s.obstacle(plan, enabled);
    s.note(obstacle, obstacle == GGML_EXT_REASON_REPLAY_KERNEL
                         ? first_without(plan, GGML_EXT_KERNEL_CAPTURE_SAFE)
                         : nullptr);
    if (obstacle != GGML_EXT_REASON_NONE) {
        // Whatever the obstacle is: nobody may wait for the device inside the caller's recording.
        const ggml_backend_replay_i * device = plan.backend->iface.replay;
        const bool enclosed = device != nullptr && device->is_enclosed(plan.backend);
        return ext::run(plan, workspace.get(), why, enclosed ? RunMode::recording : RunMode::ordinary);
    }

    s.follow_backend(plan.backend);
    s.builder.build(plan, plan.backend->iface.replay->stream_id(plan.backend), s.fresh);
    s.check_stale(workspace.get());
    if (s.phase == State::Phase::cold && is_reusable(plan)) {
        s.recording = s.recordings->adopt(s.fresh);
        if (s.recording != nullptr) {
            ++s.recordings->count.adopted;
            s.phase = State::Phase::captured;
            s.adopted = true;
            s.note(GGML_EXT_REASON_NONE);
        }
    }
    switch (s.phase) {
    case State::Phase::cold: return s.warm_up(plan, workspace, why);
    case State::Phase::warm:
        if (s.failures < kMostFailures) return s.capture(plan, workspace, why);
        s.note(GGML_EXT_REASON_REPLAY_CAPTURE_FAILED);
        return ext::run(plan, workspace.get(), why);
    case State::Phase::captured: break;
    }
    const ggml_status status = s.launch(why);
    if (status == GGML_STATUS_SUCCESS) ++s.recordings->count.replays;
    return status;
}

const Verdict & Replay::last_miss() const {
    State & s = *state_;
    if (s.verdict_is_current) return s.verdict;
    s.verdict_is_current = true;
    s.verdict = {};
    const Difference & difference = s.miss.difference;
    if (difference.reason == GGML_EXT_REASON_NONE) return s.verdict;
    if (s.miss.kernel != nullptr) {
        const bool unsafe = difference.reason == GGML_EXT_REASON_REPLAY_KERNEL;
        refuse(&s.verdict, difference.reason, -1, "%s is registered without %s", s.miss.kernel->name.c_str(),
               unsafe ? "CAPTURE_SAFE" : "REPLAY_REUSABLE");
    } else if (difference.what != nullptr || difference.node >= 0) {
        difference.describe(s.verdict);
    } else {
        s.verdict.reason = difference.reason;
        s.verdict.words = ggml_ext_reason_text(difference.reason);
    }
    return s.verdict;
}

ReplayCounters replay_counters(ggml_backend_t backend) {
    const std::shared_ptr<Recordings> recordings = Recordings::of(backend, false);
    return recordings != nullptr ? recordings->counters() : ReplayCounters{};
}

void release_recordings(ggml_backend_t backend) { Recordings::end(backend); }

} // namespace ggml::ext
