#include "pipeline/tiling.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

constexpr int64_t kLeastTile = 4, kDefaultTile = 32;

int64_t tile_size(int64_t size, int requested, float relative, float overlap, float factor) {
    int64_t tile = requested >= kLeastTile ? requested : kDefaultTile;
    if (relative > 0.0f) {
        const float part = relative <= 1.0f ? relative : 1.0f / (relative - relative * overlap + overlap);
        tile = int64_t(std::lround(float(size) * part));
    }
    tile = int64_t(float(tile) * factor);
    return std::max(std::min(tile, size), std::min(kLeastTile, size));
}

// As many tiles as cover the size with at least about the wanted overlap; the overlap then is what makes them
// fit. Returns it as a part of a tile.
float fit_overlap(int64_t size, int64_t tile, float overlap) {
    const int64_t wanted = int64_t(float(tile) * overlap), step = tile - wanted;
    int64_t count = (size - wanted) / step;
    const int64_t over = ((count + 1) * step + wanted) % size;
    if (over != step && over <= count * (tile / 2 - wanted)) ++count;
    if (count > 2) return float(tile * count - size) / float(tile * (count - 1));
    return size <= tile ? 0.0f : float(2 * tile - size) / float(tile);
}

} // namespace

TiledAxis tile_axis(int64_t size, int requested, float relative, float overlap, float factor) {
    overlap = std::clamp(overlap, 0.0f, 0.5f);
    TiledAxis axis = {size, tile_size(size, requested, relative, overlap, factor), 0, {}};
    if (size <= axis.tile) {
        axis.tiles.push_back({0, 0});
        return axis;
    }
    axis.overlap = std::max<int64_t>(0, int64_t(float(axis.tile) * fit_overlap(size, axis.tile, overlap)));
    const int64_t step = axis.tile - axis.overlap;
    for (int64_t start = 0;; start += step) {
        if (start + axis.tile < size) {
            axis.tiles.push_back({start, 0});
            continue;
        }
        // The last one ends with the picture.
        axis.tiles.push_back({size - axis.tile, start - (size - axis.tile)});
        return axis;
    }
}

float blend_weight(const TiledAxis & axis, const Tile & tile, int64_t i, int64_t scale) {
    const int64_t skip = tile.skip * scale, overlap = axis.overlap * scale, n = axis.tile * scale;
    if (i < skip) return 0.0f;
    if (overlap == 0) return 1.0f;
    float part = 1.0f;
    if (tile.start > 0) part = std::min(part, float(i - skip) / float(overlap));
    if (tile.start + axis.tile < axis.size) part = std::min(part, float(n - i) / float(overlap));
    // Smooth at both ends, and S(u) + S(1 - u) = 1.
    return part * part * part * (part * (part * 6.0f - 15.0f) + 10.0f);
}

} // namespace sd
