#include "place/layer_split.h"

#include <algorithm>
#include <numeric>

namespace sd {

std::vector<size_t> split_layers(const std::vector<uint64_t> & blocks, uint64_t rest,
                                 const std::vector<uint64_t> & room) {
    // Sums of shares, in double precision: bytes of a model are far below 2^53.
    std::vector<double> ends(room.begin(), room.end());
    const bool none = std::all_of(room.begin(), room.end(), [](uint64_t r) { return r == 0; });
    if (none) std::fill(ends.begin(), ends.end(), 1.0);
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    const double bytes = std::accumulate(blocks.begin(), blocks.end(), double(rest));
    const double scale = bytes / ends.back();
    // Its share is full; what it has too much is not taken from the next one's.
    if (double(rest) > ends.front() * scale) {
        std::vector<uint64_t> others(room.size(), uint64_t(none));
        if (!none) others = room;
        others.front() = 0;
        return split_layers(blocks, 0, others);
    }

    std::vector<size_t> devices;
    double before = double(rest);
    for (const uint64_t block : blocks) {
        // Where its middle lies.
        const double middle = before + double(block) / 2.0;
        const auto inside = [&](double end) { return middle < end * scale; };
        const auto found = std::find_if(ends.begin(), ends.end(), inside);
        devices.push_back(size_t(std::min(found, ends.end() - 1) - ends.begin()));
        before += double(block);
    }
    return devices;
}

} // namespace sd
