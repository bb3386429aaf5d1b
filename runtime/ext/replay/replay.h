// Recording a plan's device work once and launching the recording afterwards. Knows devices only through
// ggml_backend_replay_i. Promise: a recording is used only for exactly what it was made from: same graph
// structure, metadata, addresses, selected kernels, workspace and stream, compared byte for byte, never by
// following pointers of a graph that may be gone; recordings kept by a backend are bounded; each miss names
// the first difference; a failed recording is the execution's failure and nothing is repeated.
//
//   cold --run--> warm --same again--> captured --same again--> (replay) ... --different--> cold
//
// A reusable recording that does not fit any more is kept like one whose plan has ended, and found again when
// its addresses return. A plan that cannot be recorded twice in a row runs ordinarily until something
// changes.
#pragma once

#include "runtime/ext/plan/plan.h"
#include "runtime/ext/workspace/workspace.h"

#include <memory>

namespace ggml::ext {

inline constexpr size_t kMostRetiredPlans = 16;
inline constexpr size_t kMostRetiredBytes = size_t(256) << 20; // of their workspaces

// The state of one plan; may end before or after the backend. When it ends, a reusable recording goes to the
// backend's retired ones.
class Replay {
  public:
    Replay();
    ~Replay();
    Replay(Replay &&) noexcept;
    Replay & operator=(Replay &&) noexcept;

    // Executes the plan: ordinarily, while recording, or by launching a recording. enabled: false runs
    // ordinarily. why (may be null): of a failure. A reusable recording of an earlier plan may bring its own
    // workspace.
    ggml_status run(const Plan & plan, const std::shared_ptr<Workspace> & workspace, bool enabled,
                    Verdict * why);

    // Why the last execution was not a replay; reason NONE when it was.
    const Verdict & last_miss() const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

struct ReplayCounters {
    uint64_t warmups = 0, captures = 0, replays = 0, adopted = 0, evictions = 0;
    size_t retired_plans = 0, retired_bytes = 0;
};
ReplayCounters replay_counters(ggml_backend_t backend);

// Waits for the backend and releases its recordings. Plans that still exist become cold.
void release_recordings(ggml_backend_t backend);

} // namespace ggml::ext
