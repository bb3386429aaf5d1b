// Cutting a picture into overlapping tiles along each axis and blending what is made of them. Lengths are
// pixels of the latent image.
#pragma once

#include <cstdint>
#include <vector>

namespace sd {

struct TilingRequest {
    bool enabled = false;
    int tile_x = 0, tile_y = 0;           // 0: 32
    float relative_x = 0, relative_y = 0; // above 0 instead: a fraction, or (above 1) about how many tiles
    float overlap = 0.5f;                 // of a tile; clamped to 0 .. 0.5
};

struct Tile {
    int64_t start; // where it is cut out
    int64_t skip;  // of its beginning, not used: covered by the tile before it
};

struct TiledAxis {
    int64_t size, tile, overlap;
    std::vector<Tile> tiles;
};

// factor: 1 for decoding; 2 for encoding, whose tiles may be larger.
TiledAxis tile_axis(int64_t size, int requested, float relative, float overlap, float factor);

// How much of pixel i of a tile counts, `scale` output pixels being one of the axis. Tiles that cover a pixel
// together weigh about 1.
float blend_weight(const TiledAxis & axis, const Tile & tile, int64_t i, int64_t scale);

} // namespace sd
