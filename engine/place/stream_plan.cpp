#include "place/stream_plan.h"

#include <algorithm>
#include <numeric>

namespace sd {
namespace {

uint64_t sum(const std::vector<uint64_t> & values) {
    return std::accumulate(values.begin(), values.end(), uint64_t(0));
}

bool begins(const StreamRequest & r, size_t stage) {
    return std::binary_search(r.begins.begin(), r.begins.end(), stage);
}

// Every stage alone; those in `passing` do not stay.
StreamPlan stage_by_stage(const StreamRequest & r, const std::vector<bool> & passing, size_t slots,
                          uint64_t work) {
    StreamPlan plan;
    for (size_t i = 0; i < r.weights.size(); ++i) {
        plan.segments.push_back({i, 1, !passing[i]});
        if (passing[i])
            plan.slot = std::max(plan.slot, r.weights[i]);
        else
            plan.staying += r.weights[i];
    }
    plan.slots = slots;
    plan.work = work;
    return plan;
}

// `count` of the stages in `large`, as far from each other as possible: the others compute in between.
std::vector<bool> spread(const std::vector<size_t> & large, size_t count, size_t stages) {
    std::vector<bool> passing(stages);
    for (size_t i = 0; i < large.size(); ++i)
        passing[large[i]] = (i + 1) * count / large.size() > i * count / large.size();
    return passing;
}

StreamPlan streaming(const StreamRequest & r) {
    const size_t n = r.weights.size();
    uint64_t work = 0;
    for (size_t i = 0; i < n; ++i) work = std::max(work, r.work(i, 1));
    // What is small saves little by leaving and costs a graph's worth of waiting.
    const uint64_t largest = *std::max_element(r.weights.begin(), r.weights.end());
    std::vector<size_t> large, all(n);
    std::iota(all.begin(), all.end(), size_t(0));
    for (size_t i = 0; i < n; ++i) {
        if (r.weights[i] >= largest / 4) large.push_back(i);
    }
    const auto fits = [&](const StreamPlan & p) { return p.peak() <= r.budget && p.slot <= r.most_slot; };
    for (const size_t slots : {size_t(2), size_t(1)}) {
        for (size_t count = 0; count <= large.size(); ++count) {
            const StreamPlan plan = stage_by_stage(r, spread(large, count, n), std::min(slots, count), work);
            if (fits(plan)) return plan;
        }
    }
    return stage_by_stage(r, spread(all, n, n), 1, work);
}

StreamPlan longest_runs(const StreamRequest & r) {
    const size_t n = r.weights.size();
    StreamPlan plan;
    plan.slots = 1;
    // What every plan takes: no run may grow into that.
    plan.slot = *std::max_element(r.weights.begin(), r.weights.end());
    for (size_t i = 0; i < n; ++i) plan.work = std::max(plan.work, r.work(i, 1));
    for (size_t first = 0; first < n;) {
        size_t count = 1;
        uint64_t weights = r.weights[first], work = 0;
        while (first + count < n && !begins(r, first + count)) {
            const uint64_t longer = weights + r.weights[first + count];
            if (longer > std::min(r.budget, r.most_slot)) break;
            const uint64_t longer_work = r.work(first, count + 1);
            // All runs use one slot and one piece of working memory.
            if (std::max(plan.slot, longer) + std::max(plan.work, longer_work) > r.budget) break;
            weights = longer;
            work = longer_work;
            ++count;
        }
        plan.segments.push_back({first, count, false});
        plan.slot = std::max(plan.slot, weights);
        plan.work = std::max(plan.work, work);
        first += count;
    }
    return plan;
}

} // namespace

StreamPlan plan_resident(const StreamRequest & r) {
    StreamPlan plan;
    for (size_t i = 0; i < r.weights.size(); ++i) {
        if (i == 0 || begins(r, i)) plan.segments.push_back({i, 0, true});
        ++plan.segments.back().count;
    }
    for (const StreamPlan::Segment & s : plan.segments)
        plan.work = std::max(plan.work, r.work(s.first, s.count));
    plan.staying = plan.weights = sum(r.weights);
    return plan;
}

StreamPlan plan_stream(const StreamRequest & r) {
    StreamPlan plan = plan_resident(r);
    const bool fits = plan.peak() <= r.budget;
    if (!fits && r.weights.size() > 1) plan = r.streams ? streaming(r) : longest_runs(r);
    plan.weights = sum(r.weights);
    return plan;
}

} // namespace sd
