// Which keys of a panel a tile can see. Plain code: it reads 16-bit words and mostly stops at the first one.
#include "backends/cpu/kernels/attention/tile.h"

#include <cstring>

namespace ggml::cpu::attention {
namespace {

constexpr uint16_t kMinusInfinity = 0xfc00;

bool four_hidden(const uint16_t * mask) {
    uint64_t four;
    std::memcpy(&four, mask, sizeof(four));
    return four == 0xfc00fc00fc00fc00u;
}

int64_t first_visible(const uint16_t * mask, int64_t begin, int64_t end) {
    while (begin + 4 <= end && four_hidden(mask + begin)) begin += 4;
    while (begin < end && mask[begin] == kMinusInfinity) ++begin;
    return begin;
}

int64_t last_visible(const uint16_t * mask, int64_t begin, int64_t end) {
    while (begin + 4 <= end && four_hidden(mask + end - 4)) end -= 4;
    while (begin < end && mask[end - 1] == kMinusInfinity) --end;
    return end;
}

bool any_bias(const uint16_t * mask, int64_t begin, int64_t end) {
    uint16_t bits = 0;
    for (int64_t i = begin; i < end; ++i) bits |= mask[i];
    return (bits & 0x7fff) != 0;
}

} // namespace

Visible visible_keys(const Tile & tile, const Panel & panel) {
    if (tile.queries[0].mask == nullptr) return {0, panel.count, false};
    Visible seen{panel.count, 0, false};
    for (int i = 0; i < tile.n; ++i) {
        const uint16_t * mask = tile.queries[i].mask + panel.first;
        seen.begin = first_visible(mask, 0, seen.begin);
        if (seen.begin == panel.count) continue; // this query, and all before it, see nothing
        seen.end = last_visible(mask, seen.end, panel.count);
    }
    if (seen.begin >= seen.end) return {0, 0, false};
    for (int i = 0; i < tile.n && !seen.biased; ++i) {
        seen.biased = any_bias(tile.queries[i].mask + panel.first, seen.begin, seen.end);
    }
    return seen;
}

} // namespace ggml::cpu::attention
