#include "pipeline/tiling.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

std::vector<int64_t> starts(const TiledAxis & axis) {
    std::vector<int64_t> out;
    for (const Tile & t : axis.tiles) out.push_back(t.start);
    return out;
}

TEST(tiling, places_tiles_as_described) {
    using List = std::vector<int64_t>;
    EXPECT_EQ(starts(tile_axis(128, 32, 0, 0.5f, 1)), (List{0, 16, 32, 48, 64, 80, 96}));
    EXPECT_EQ(tile_axis(96, 32, 0, 0.5f, 1).tiles.size(), 5u);
    const TiledAxis uneven = tile_axis(104, 32, 0, 0.5f, 1);
    EXPECT_EQ(uneven.overlap, 14);
    EXPECT_EQ(starts(uneven), (List{0, 18, 36, 54, 72}));
    EXPECT_EQ(tile_axis(48, 32, 0, 0.5f, 1).tiles.size(), 2u);
    EXPECT_EQ(starts(tile_axis(32, 32, 0, 0.5f, 1)), (List{0}));
    EXPECT_EQ(starts(tile_axis(128, 64, 0, 0.5f, 1)), (List{0, 32, 64}));
}

TEST(tiling, takes_sizes_absolute_relative_and_by_number) {
    EXPECT_EQ(tile_axis(128, 0, 0, 0.5f, 1).tile, 32);
    EXPECT_EQ(tile_axis(128, 0, 0, 0.5f, 2).tile, 64);
    EXPECT_EQ(tile_axis(128, 3, 0, 0.5f, 1).tile, 32);
    EXPECT_EQ(tile_axis(128, 20, 0.25f, 0.5f, 1).tile, 32);
    EXPECT_EQ(tile_axis(120, 0, 2, 0.5f, 1).tile, 80);
    EXPECT_EQ(tile_axis(10, 999, 0, 0.5f, 1).tile, 10);
    EXPECT_EQ(tile_axis(2, 32, 0, 0.5f, 1).tile, 2);
}

// Whatever sizes are asked for: every pixel is covered, tiles stay inside, and together they weigh about one.
TEST(tiling, covers_every_pixel_once) {
    for (int64_t size = 1; size <= 140; ++size) {
        for (const int tile : {4, 7, 16, 32, 33, 64}) {
            for (const float overlap : {0.0f, 0.1f, 0.25f, 0.5f, 0.9f}) {
                const TiledAxis axis = tile_axis(size, tile, 0, overlap, 1);
                std::vector<float> weights(size_t(size * 8));
                for (const Tile & t : axis.tiles) {
                    ASSERT_GE(t.start, 0);
                    ASSERT_LE(t.start + axis.tile, size);
                    for (int64_t i = 0; i < axis.tile * 8; ++i) {
                        weights[size_t(t.start * 8 + i)] += blend_weight(axis, t, i, 8);
                    }
                }
                for (const float w : weights) {
                    ASSERT_NEAR(w, 1.0f, 1e-5f)
                        << "size " << size << ", tile " << tile << ", overlap " << overlap;
                }
            }
        }
    }
}

} // namespace
} // namespace sd
