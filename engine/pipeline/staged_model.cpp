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

StagedModel::StagedModel(Runner & runner, Weights & weights, std::vector<Stage> stages, size_t most_nodes,
                         std::string what)
    : runner_(runner), weights_(weights), stages_(std::move(stages)), most_nodes_(most_nodes),
      what_(std::move(what)) {
    plan_.segments = {{0, stages_.size(), true}};
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

void StagedModel::run_piece(HostValues & values, const StreamPlan::Segment & segment, const Run & run) {
    Piece piece = build(values, segment.first, segment.count, run.watched);
    runner_.allocate(piece.graph);
    for (const auto & [name, tensor] : piece.in) {
        // Inputs that nothing of this piece reads have no place.
        if (tensor->buffer == nullptr) continue;
        const std::vector<std::byte> & bytes = values.at(name).bytes;
        runner_.set(tensor, bytes.data(), bytes.size());
    }
    runner_.compute(piece.graph, run.cancel);
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
    for (size_t i = 0; i < plan_.segments.size(); ++i) {
        // Devices but the CPU compute a graph to its end.
        if (run.cancel != nullptr && *run.cancel) throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
        const Entered entered(stream_.get(), i, run.cancel);
        run_piece(in, plan_.segments[i], run);
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

StreamPlan StagedModel::decide(const HostValues & in) {
    StreamRequest request;
    weights_.place_nowhere();
    for (const Stage & s : stages_)
        request.weights.push_back(weights_.group_allocated(s.group) + weights_.group_mapped(s.group));
    const std::vector<HostValues> sizes = sizes_between(in);
    request.work = [&](size_t first, size_t count) {
        const uint64_t own = runner_.memory_of(build(sizes[first], first, count, false).graph).own;
        if (own == SIZE_MAX)
            throw Error({"E_MEMORY", {}, {}, "the " + what_ + " cannot be run: " + ggml_reason(), {}});
        return own;
    };
    request.budget = runner_.room(weights_.options().budget);
    request.most_slot = ggml_backend_buft_get_max_size(weights_.options().buffer_type);
    request.streams = weights_.options().budget && weights_.options().budget->streams;
    StreamPlan plan = plan_stream(request);
    if (plan.peak() <= request.budget) return plan;
    throw Error({"E_MEMORY",
                 {},
                 {},
                 "the " + what_ + " needs at least " + size_text(plan.peak()) +
                     " of memory: " + size_text(plan.peak() - plan.work) + " for weights and " +
                     size_text(plan.work) + " to compute; it may take " + size_text(request.budget),
                 "a larger limit, or a smaller picture"});
}

void StagedModel::say() const {
    size_t stay = 0;
    for (const StreamPlan::Segment & s : plan_.segments) stay += s.stays ? s.count : 0;
    std::string line = "memory: the " + what_ + " on " + runner_.device_name() + ": ";
    if (plan_.slots == 0)
        line += "all weights, " + size_text(plan_.staying);
    else
        line += std::to_string(stay) + " of " + std::to_string(stages_.size()) + " parts stay, " +
                size_text(plan_.staying) + " of " + size_text(plan_.weights) + "; the others pass through " +
                std::to_string(plan_.slots) + " x " + size_text(plan_.slot);
    log_info(line + "; " + size_text(plan_.work) + " to compute, " + size_text(plan_.peak()) + " in all (" +
             std::to_string(plan_.peak()) + " bytes)");
}

void StagedModel::plan(const HostValues & in, const std::atomic<bool> * cancel) {
    if (weights_.always_there()) return;
    const uint64_t bytes = bytes_of(in);
    if (stream_ != nullptr && bytes <= planned_bytes_) return;
    stream_.reset();
    runner_.release();
    plan_ = decide(in);
    planned_bytes_ = bytes;
    say();
    std::vector<WeightStream::Segment> segments;
    for (const StreamPlan::Segment & s : plan_.segments) {
        segments.push_back({{}, s.stays});
        for (size_t i = s.first; i < s.first + s.count; ++i)
            segments.back().groups.push_back(stages_[i].group);
    }
    ParallelOptions options;
    options.threads = runner_.threads();
    options.cancel = cancel;
    stream_ = std::make_unique<WeightStream>(weights_, std::move(segments), plan_.slots, options);
}

WorkMemory StagedModel::memory_of(const HostValues & in) {
    return runner_.memory_of(build(in, 0, stages_.size(), false).graph);
}

std::string StagedModel::explain(const HostValues & in, bool json) {
    return runner_.explain(build(in, 0, stages_.size(), false).graph, json);
}

} // namespace sd
