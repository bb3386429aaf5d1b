#include "pipeline/staged_model.h"

#include "base/error.h"
#include "base/log.h"
#include "base/size_text.h"
#include "pipeline/extensions.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace sd {
namespace {

uint64_t bytes_of(const HostValues & values) {
    uint64_t sum = 0;
    for (const auto & [name, v] : values) {
        uint64_t rows = 1;
        for (int i = 1; i < GGML_MAX_DIMS; ++i) rows *= uint64_t(v.ne[size_t(i)]);
        sum += ggml_row_size(v.type, v.ne[0]) * rows;
    }
    return sum;
}

HostValue size_of(const ggml_tensor * t) {
    HostValue v = {t->type, {}, {}};
    std::copy(t->ne, t->ne + GGML_MAX_DIMS, v.ne.begin());
    return v;
}

// Of a stage's weights: they are there while it computes, whatever happens.
class Entered {
  public:
    Entered(WeightStream * stream, size_t segment, const std::atomic<bool> * cancel)
        : stream_(stream), segment_(segment) {
        if (stream_ != nullptr) stream_->enter(segment_, cancel);
    }
    ~Entered() {
        if (stream_ != nullptr) stream_->leave(segment_);
    }
    Entered(const Entered &) = delete;
    Entered & operator=(const Entered &) = delete;

  private:
    WeightStream * stream_;
    size_t segment_;
};

} // namespace

HostValue HostValue::of(std::vector<int64_t> ne, const std::vector<float> & values) {
    ne.resize(GGML_MAX_DIMS, 1);
    HostValue v = {GGML_TYPE_F32, {}, std::vector<std::byte>(values.size() * sizeof(float))};
    std::copy(ne.begin(), ne.end(), v.ne.begin());
    if (!values.empty()) std::memcpy(v.bytes.data(), values.data(), v.bytes.size());
    return v;
}

std::vector<float> HostValue::floats() const {
    std::vector<float> out(bytes.size() / sizeof(float));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

StagedModel::StagedModel(std::vector<Runner *> runners, Weights & weights, std::vector<Stage> stages,
                         size_t most_nodes, std::string what)
    : runners_(std::move(runners)), weights_(weights), stages_(std::move(stages)), most_nodes_(most_nodes),
      what_(std::move(what)) {}

// Each device gets the stages whose weights are in its memory.
void StagedModel::divide() {
    if (!shares_.empty()) return;
    const std::vector<WeightMemory> & memory = weights_.options().memory;
    for (size_t m = 0; m < memory.size(); ++m) {
        Share share = {runners_[m], &memory[m], {}, {}, {}, {}};
        for (size_t i = 0; i < stages_.size(); ++i) {
            if (weights_.memory_of(stages_[i].group) != m) continue;
            if (share.stages.empty() || share.stages.back() + 1 != i)
                share.begins.push_back(share.stages.size());
            share.stages.push_back(i);
        }
        if (!share.stages.empty()) shares_.push_back(std::move(share));
    }
}

StagedModel::Piece StagedModel::build(const HostValues & in, size_t first, size_t count, bool watched) const {
    Piece piece = {Graph(most_nodes_), {}, {}};
    if (watched) piece.graph.watch_everything();
    for (const auto & [name, v] : in)
        piece.in[name] = piece.graph.input(name, v.type, {v.ne[0], v.ne[1], v.ne[2], v.ne[3]});
    piece.out = piece.in;
    for (size_t i = first; i < first + count; ++i) stages_[i].build(piece.graph, piece.out);
    const bool last = first + count == stages_.size();
    for (const auto & [name, tensor] : piece.out) {
        // What passes through unchanged is no result.
        const auto same = piece.in.find(name);
        if (same != piece.in.end() && same->second == tensor) continue;
        if (last)
            piece.graph.output(name, tensor);
        else
            piece.graph.keep(tensor);
    }
    return piece;
}

void StagedModel::run_piece(HostValues & values, const Step & step, const Run & run) {
    Runner & runner = *step.share->runner;
    Piece piece = build(values, step.first, step.count, run.watched);
    runner.allocate(piece.graph);
    for (const auto & [name, tensor] : piece.in) {
        // Inputs that nothing of this piece reads have no place.
        if (tensor->buffer == nullptr) continue;
        const std::vector<std::byte> & bytes = values.at(name).bytes;
        runner.set(tensor, bytes.data(), bytes.size());
    }
    runner.compute(piece.graph, run.cancel);
    weights_.check_files();
    if (run.seen) run.seen(piece.graph);
    HostValues next;
    for (const auto & [name, tensor] : piece.out) {
        const auto same = piece.in.find(name);
        if (same != piece.in.end() && same->second == tensor) {
            next[name] = std::move(values.at(name));
            continue;
        }
        HostValue & v = next[name] = size_of(tensor);
        v.bytes.resize(ggml_nbytes(tensor));
        ggml_backend_tensor_get(tensor, v.bytes.data(), 0, v.bytes.size());
    }
    values = std::move(next);
}

HostValues StagedModel::run(HostValues in, const Run & run) {
    plan(in, run.cancel);
    for (const Step & step : steps_) {
        // Devices but the CPU compute a graph to its end.
        if (run.cancel != nullptr && *run.cancel) throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
        const Entered entered(step.share->stream.get(), step.segment, run.cancel);
        run_piece(in, step, run);
    }
    return in;
}

std::vector<HostValues> StagedModel::sizes_between(const HostValues & in) const {
    std::vector<HostValues> sizes = {in};
    for (size_t i = 0; i < stages_.size(); ++i) {
        const Piece piece = build(sizes.back(), i, 1, false);
        HostValues next;
        for (const auto & [name, tensor] : piece.out) next[name] = size_of(tensor);
        sizes.push_back(std::move(next));
    }
    return sizes;
}

// sizes: of the values before each stage.
StreamRequest StagedModel::request_of(const Share & share, const std::vector<HostValues> & sizes) const {
    StreamRequest request;
    for (const size_t i : share.stages) {
        const size_t group = stages_[i].group;
        request.weights.push_back(weights_.group_allocated(group) + weights_.group_mapped(group));
    }
    request.begins = share.begins;
    request.work = [this, &share, &sizes](size_t first, size_t count) {
        const size_t stage = share.stages[first];
        const WorkMemory work = share.runner->memory_of(build(sizes[stage], stage, count, false).graph);
        if (work.own == SIZE_MAX)
            throw Error({"E_MEMORY", {}, {}, "the " + what_ + " cannot be run: " + ggml_reason(), {}});
        // Before a step, what the CPU needs for a device counts, too.
        return weights_.always_there() ? work.sum() : work.own + work.scratch;
    };
    request.most_slot = ggml_backend_buft_get_max_size(share.memory->type);
    request.budget = share.runner->room(share.memory->budget);
    // They are not taken from what is free now.
    if (share.memory->always_there())
        request.budget +=
            std::min(UINT64_MAX - request.budget,
                     std::accumulate(request.weights.begin(), request.weights.end(), uint64_t(0)));
    request.streams = share.memory->budget && share.memory->budget->streams;
    return request;
}

StreamPlan StagedModel::decide(const Share & share, const std::vector<HostValues> & sizes) const {
    const StreamRequest request = request_of(share, sizes);
    StreamPlan plan = share.memory->always_there() ? plan_resident(request) : plan_stream(request);
    if (plan.peak() <= request.budget) return plan;
    const std::string where = runners_.size() > 1 ? " of " + share.runner->device_name() : "";
    throw Error({"E_MEMORY",
                 {},
                 {},
                 "the " + what_ + " needs at least " + size_text(plan.peak()) + " of memory" + where + ": " +
                     size_text(plan.peak() - plan.work) + " for weights and " + size_text(plan.work) +
                     " to compute; it may take " + size_text(request.budget),
                 share.runner->advice(share.memory->budget, plan.peak(), request.budget)});
}

void StagedModel::say(const Share & share) const {
    const StreamPlan & plan = share.plan;
    size_t stay = 0;
    for (const StreamPlan::Segment & s : plan.segments) stay += s.stays ? s.count : 0;
    std::string line = "memory: the " + what_ + " on " + share.runner->device_name() + ": ";
    if (plan.slots == 0)
        line += (share.stages.size() == stages_.size()
                     ? "all weights, "
                     : "weights of " + std::to_string(share.stages.size()) + " of " +
                           std::to_string(stages_.size()) + " parts, ") +
                size_text(plan.staying);
    else
        line += std::to_string(stay) + " of " + std::to_string(share.stages.size()) + " parts stay, " +
                size_text(plan.staying) + " of " + size_text(plan.weights) + "; the others pass through " +
                std::to_string(plan.slots) + " x " + size_text(plan.slot);
    log_info(line + "; " + size_text(plan.work) + " to compute, " + size_text(plan.peak()) + " in all (" +
             std::to_string(plan.peak()) + " bytes)");
}

// The order of what devices do, from their plans.
void StagedModel::follow_plans() {
    steps_.clear();
    for (Share & share : shares_) {
        for (size_t i = 0; i < share.plan.segments.size(); ++i) {
            const StreamPlan::Segment & s = share.plan.segments[i];
            steps_.push_back({&share, i, share.stages[s.first], s.count});
        }
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step & a, const Step & b) { return a.first < b.first; });
}

// What is not there yet.
void StagedModel::fetch(const std::atomic<bool> * cancel) {
    for (Share & share : shares_) {
        if (share.memory->always_there() || share.stream != nullptr) continue;
        std::vector<WeightStream::Segment> segments;
        for (const StreamPlan::Segment & s : share.plan.segments) {
            segments.push_back({{}, s.stays});
            for (size_t i = s.first; i < s.first + s.count; ++i)
                segments.back().groups.push_back(stages_[share.stages[i]].group);
        }
        ParallelOptions options;
        options.threads = share.runner->threads();
        options.cancel = cancel;
        share.stream =
            std::make_unique<WeightStream>(weights_, std::move(segments), share.plan.slots, options);
    }
}

void StagedModel::pause() {
    for (Share & share : shares_) share.stream.reset();
}

void StagedModel::rest() {
    if (weights_.always_there()) return;
    pause();
    steps_.clear();
}

void StagedModel::plan(const HostValues & in, const std::atomic<bool> * cancel) {
    divide();
    const bool there = weights_.always_there();
    const uint64_t bytes = bytes_of(in);
    if (!steps_.empty() && (there || bytes <= planned_bytes_)) {
        fetch(cancel);
        return;
    }
    rest();
    if (there) {
        for (Share & share : shares_) {
            StreamRequest request;
            request.weights.resize(share.stages.size());
            request.begins = share.begins;
            request.work = [](size_t, size_t) { return uint64_t(0); };
            share.plan = plan_resident(request);
        }
        follow_plans();
        return;
    }
    for (Runner * runner : runners_) runner->release();
    std::vector<size_t> groups;
    for (const Stage & s : stages_) {
        if (!weights_.always_there(weights_.memory_of(s.group))) groups.push_back(s.group);
    }
    weights_.place_nowhere(groups);
    const std::vector<HostValues> sizes = sizes_between(in);
    for (Share & share : shares_) {
        share.plan = decide(share, sizes);
        say(share);
    }
    fetch(cancel);
    follow_plans();
    planned_bytes_ = bytes;
}

std::vector<uint64_t> StagedModel::memory_of(const HostValues & in) {
    divide();
    const std::vector<HostValues> sizes = sizes_between(in);
    std::vector<uint64_t> bytes(runners_.size());
    for (const Share & share : shares_) {
        const size_t m = size_t(share.memory - weights_.options().memory.data());
        bytes[m] = plan_resident(request_of(share, sizes)).work;
    }
    return bytes;
}

std::string StagedModel::explain(const HostValues & in, bool json) {
    return runners_.front()->explain(build(in, 0, stages_.size(), false).graph, json);
}

} // namespace sd
