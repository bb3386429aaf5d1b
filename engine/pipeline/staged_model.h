// A model's stages at work: as one graph where its weights are always there, else in pieces that fit the
// memory, with weights that come and go (docs/design/memory.md). The result is the same.
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
    // what: for messages. The arguments but the last three must live longer.
    StagedModel(Runner & runner, Weights & weights, std::vector<Stage> stages, size_t most_nodes,
                std::string what);

    struct Run {
        bool watched = false;
        // After each graph, while its results are there.
        std::function<void(const Graph & g)> seen;
        const std::atomic<bool> * cancel = nullptr;
    };
    HostValues run(HostValues in, const Run & run);

    // Decides how values of these sizes are computed, says so, and takes the weights that stay. Runs with the
    // same or smaller ones use what was decided; a run that needs more decides anew. Throws Error: it cannot
    // fit. Does nothing where weights are always there.
    void plan(const HostValues & in, const std::atomic<bool> * cancel);
    const StreamPlan & plan() const { return plan_; }

    // Gives the device's memory back. Weights come again when they are needed.
    void rest() { stream_.reset(); }

    // Working memory of all stages as one graph, and how it would run; weights must be where they are used.
    WorkMemory memory_of(const HostValues & in);
    std::string explain(const HostValues & in, bool json);

  private:
    struct Piece {
        Graph graph;
        Values in, out;
    };
    Piece build(const HostValues & in, size_t first, size_t count, bool watched) const;
    void run_piece(HostValues & values, const StreamPlan::Segment & segment, const Run & run);
    std::vector<HostValues> sizes_between(const HostValues & in) const;
    StreamPlan decide(const HostValues & in);
    void say() const;

    Runner & runner_;
    Weights & weights_;
    std::vector<Stage> stages_;
    size_t most_nodes_;
    std::string what_;
    StreamPlan plan_;
    uint64_t planned_bytes_ = 0; // of the values it was made for
    std::unique_ptr<WeightStream> stream_;
};

} // namespace sd
