#include "models/krea2/tokens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace sd {
namespace {

TEST(krea2_tokens, come_back_as_the_latent_they_were) {
    for (const int64_t height : {1, 2, 3, 8}) {
        for (const int64_t width : {1, 4, 5}) {
            std::vector<float> latent(size_t(16 * height * width));
            std::iota(latent.begin(), latent.end(), 1.0f);
            std::vector<float> patches(size_t(krea2_patches(height) * krea2_patches(width) * 64), -1.0f);
            krea2_patchify(latent.data(), 16, height, width, patches.data());
            std::vector<float> back(latent.size());
            krea2_unpatchify(patches.data(), 16, height, width, back.data());
            EXPECT_EQ(back, latent);
            // What is beyond an odd side is zero, not what was there.
            const double sum = std::accumulate(patches.begin(), patches.end(), 0.0);
            EXPECT_EQ(sum, std::accumulate(latent.begin(), latent.end(), 0.0));
        }
    }
}

TEST(krea2_tokens, hold_channels_then_rows_then_columns) {
    std::vector<float> latent(16 * 4 * 4);
    latent[(5 * 4 + 3) * 4 + 2] = 1.0f; // channel 5, row 3, column 2: patch 3, row 1, column 0 of it
    std::vector<float> patches(4 * 64);
    krea2_patchify(latent.data(), 16, 4, 4, patches.data());
    EXPECT_EQ(patches[3 * 64 + 5 * 4 + 1 * 2 + 0], 1.0f);
}

TEST(krea2_timestep, has_the_recorded_values) {
    const std::vector<float> e = krea2_timestep(0.90453076f, 256);
    const std::pair<int, float> recorded[] = {{0, 0.969425f},    {64, -0.928861f}, {127, 0.995280f},
                                              {128, -0.245389f}, {192, 0.370429f}, {255, 0.097049f}};
    for (const auto & [i, value] : recorded) EXPECT_NEAR(e[size_t(i)], value, 5e-5f) << i;
}

TEST(krea2_rope, turns_patches_by_row_and_column_and_text_not_at_all) {
    Krea2Config c = {};
    c.head_dim = 128;
    const std::vector<float> rope = krea2_rope(c, 2, 2, 3);
    ASSERT_EQ(rope.size(), size_t(8 * 64 * 4));
    const auto entry = [&](int token, int pair, int part) {
        return rope[size_t((token * 64 + pair) * 4 + part)];
    };
    for (int pair = 0; pair < 64; ++pair) {
        EXPECT_EQ(entry(0, pair, 0), 1.0f);
        EXPECT_EQ(entry(1, pair, 2), 0.0f);
        EXPECT_EQ(entry(2, pair, 0), 1.0f) << "the first patch is at 0, 0";
    }
    // Patch (1, 2) is token 2 + 5. Pairs 16 to 39 turn with the row, 40 to 63 with the column.
    EXPECT_EQ(entry(7, 3, 0), 1.0f);
    EXPECT_NEAR(entry(7, 16, 0), std::cos(1.0), 1e-6);
    EXPECT_NEAR(entry(7, 16, 1), -std::sin(1.0), 1e-6);
    EXPECT_NEAR(entry(7, 17, 2), std::sin(0.74989421), 1e-6);
    EXPECT_NEAR(entry(7, 40, 2), std::sin(2.0), 1e-6);
    EXPECT_NEAR(entry(7, 41, 3), std::cos(2.0 * 0.74989421), 1e-6);
}

} // namespace
} // namespace sd
