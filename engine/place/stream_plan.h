// Which layers of a model stay in a limited memory and how the others pass through it. Pure numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sd {

struct StreamPlan {
    // Consecutive stages that are one graph.
    struct Segment {
        size_t first, count;
        bool stays; // its weights, from the first run on
    };
    std::vector<Segment> segments;
    uint64_t staying = 0; // bytes of weights that stay
    uint64_t slot = 0;    // bytes of a place that other weights pass through
    size_t slots = 0;     // one; two when weights arrive while others are computed with
    uint64_t work = 0;    // the most working memory of any segment
    uint64_t weights = 0; // bytes of all weights
    uint64_t peak() const { return staying + slot * slots + work; }
};

struct StreamRequest {
    std::vector<uint64_t> weights; // bytes of each stage's
    // Stages that begin a graph whatever fits, ascending: what is before them computes elsewhere.
    std::vector<size_t> begins;
    // Working memory of `count` stages as one graph.
    std::function<uint64_t(size_t first, size_t count)> work;
    uint64_t budget = 0;
    uint64_t most_slot = UINT64_MAX; // the largest piece of memory there can be
    bool streams = false;            // keep what fits, use two slots
};

// Everything stays, in as few graphs as there can be; its peak may be anything.
StreamPlan plan_resident(const StreamRequest & request);

// The fastest plan whose peak is within the budget, or, when there is none, the smallest one: its peak is
// then beyond the budget.
StreamPlan plan_stream(const StreamRequest & request);

} // namespace sd
