#include "pipeline/spread.h"

#include "base/log.h"

#include <algorithm>

namespace sd {
namespace {

// Left free on each device, for working memory and others.
constexpr uint64_t kHeadroom = uint64_t(2) << 30;

} // namespace

void spread_blocks(Weights & weights, const std::vector<Runner *> & runners, const std::string & what) {
    if (runners.size() < 2) return;
    std::vector<uint64_t> free, room;
    for (size_t i = 0; i < runners.size(); ++i) {
        const std::optional<MemoryBudget> & budget = weights.options().memory[i].budget;
        free.push_back(runners[i]->room(budget));
        // A limit that was asked for is what may be used.
        room.push_back(budget ? free.back() : free.back() - std::min(free.back(), kHeadroom));
    }
    const bool none = std::all_of(room.begin(), room.end(), [](uint64_t r) { return r == 0; });
    weights.spread(none ? free : room);
    std::string line = "the " + what + ":";
    for (size_t i = 0; i < runners.size(); ++i) {
        line += (i == 0 ? " " : ", ") + std::to_string(weights.blocks_in(i)) + " blocks on " +
                runners[i]->device_name();
    }
    log_info(line);
    // The first may have what is no block.
    for (size_t i = 0; i < runners.size(); ++i) {
        if (weights.blocks_in(i) == 0 && (i > 0 || weights.bytes_allocated(i) + weights.bytes_mapped(i) == 0))
            log_warn("the " + what + ": " + runners[i]->device_name() + " gets none of the blocks");
    }
}

} // namespace sd
