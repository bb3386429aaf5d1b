// A model's stages at work: as one graph where its weights are always there, else in pieces: on the devices
// that have their weights, and small enough for the memory there, with weights that come and go
// (docs/design/memory.md). The result is the same.
#pragma once

#include "nn/stage.h"
#include "nn/weight_stream.h"
#include "pipeline/runner.h"
#include "place/stream_plan.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sd {

struct HostValue {
    ggml_type type;
    std::array<int64_t, GGML_MAX_DIMS> ne;
    std::vector<std::byte> bytes; // may be empty where only the size counts

    static HostValue of(std::vector<int64_t> ne, const std::vector<float> & values);
    std::vector<float> floats() const;
};
using HostValues = std::map<std::string, HostValue>;

class StagedModel {
  public:
    // runners: of each memory of the weights, which are spread before the first use of this. what: for
    // messages. What the first two refer to must live longer.
    StagedModel(std::vector<Runner *> runners, Weights & weights, std::vector<Stage> stages,
                size_t most_nodes, std::string what);

    struct Run {
        bool watched = false;
        // After each graph, while its results are there.
        std::function<void(const Graph & g)> seen;
        const std::atomic<bool> * cancel = nullptr;
    };
    HostValues run(HostValues in, const Run & run);

    // Decides how values of these sizes are computed, says so, and takes the weights that stay. Runs with the
    // same or smaller ones use what was decided; a run that needs more decides anew. Throws Error: it cannot
    // fit. Where weights are always there, sizes do not matter and nothing is said or taken.
    void plan(const HostValues & in, const std::atomic<bool> * cancel);

    // Gives the devices' memory back. Weights come again when they are needed: as they were planned, or after
    // `rest` as it is decided then.
    void pause();
    void rest();

    // Working memory of each device; weights must be where they are used.
    std::vector<uint64_t> memory_of(const HostValues & in);
    // How it would run, on one device.
    std::string explain(const HostValues & in, bool json);

  private:
    struct Piece {
        Graph graph;
        Values in, out;
    };
    // What one device does.
    struct Share {
        Runner * runner;
        const WeightMemory * memory;
        std::vector<size_t> stages, begins; // the numbers of those that do not follow the one before
        StreamPlan plan;                    // of those stages
        std::unique_ptr<WeightStream> stream;
    };
    struct Step {
        Share * share;
        size_t segment;
        size_t first, count; // of all stages
    };
    Piece build(const HostValues & in, size_t first, size_t count, bool watched) const;
    void run_piece(HostValues & values, const Step & step, const Run & run);
    std::vector<HostValues> sizes_between(const HostValues & in) const;
    void divide();
    StreamRequest request_of(const Share & share, const std::vector<HostValues> & sizes) const;
    StreamPlan decide(const Share & share, const std::vector<HostValues> & sizes) const;
    void follow_plans();
    void fetch(const std::atomic<bool> * cancel);
    void say(const Share & share) const;

    std::vector<Runner *> runners_;
    Weights & weights_;
    std::vector<Stage> stages_;
    size_t most_nodes_;
    std::string what_;
    std::vector<Share> shares_;  // none: not divided yet
    std::vector<Step> steps_;    // none: nothing is planned
    uint64_t planned_bytes_ = 0; // of the values it was planned for
};

} // namespace sd
