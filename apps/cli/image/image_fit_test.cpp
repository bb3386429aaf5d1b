#include "apps/cli/image/image_fit.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

using Pixels = std::vector<uint8_t>;

TEST(image_fit, colors_come_from_gray_and_transparent_parts_are_white) {
    EXPECT_EQ(to_rgb({2, 1, 1, {7, 9}, {}}).pixels, (Pixels{7, 7, 7, 9, 9, 9}));
    EXPECT_EQ(to_rgb({1, 1, 3, {1, 2, 3}, {}}).pixels, (Pixels{1, 2, 3}));
    EXPECT_EQ(to_rgb({2, 1, 2, {100, 255, 100, 0}, {}}).pixels, (Pixels{100, 100, 100, 255, 255, 255}));
    EXPECT_EQ(to_rgb({2, 1, 4, {0, 51, 255, 128, 9, 9, 9, 255}, {}}).pixels,
              (Pixels{127, 153, 255, 9, 9, 9}));
}

TEST(image_fit, masks_are_luma_and_transparent_parts_are_kept) {
    EXPECT_EQ(to_gray({3, 1, 3, {255, 255, 255, 255, 0, 0, 0, 0, 255}, {}}).pixels, (Pixels{255, 76, 29}));
    EXPECT_EQ(to_gray({1, 1, 1, {42}, {}}).pixels, (Pixels{42}));
    EXPECT_EQ(to_gray({2, 1, 4, {255, 255, 255, 0, 255, 255, 255, 255}, {}}).pixels, (Pixels{0, 255}));
    EXPECT_EQ(to_gray({1, 1, 2, {200, 128}, {}}).pixels, (Pixels{100}));
}

TEST(image_fit, transparency_is_found) {
    EXPECT_FALSE(is_transparent({1, 1, 3, {1, 2, 3}, {}}));
    EXPECT_FALSE(is_transparent({1, 1, 4, {1, 2, 3, 255}, {}}));
    EXPECT_TRUE(is_transparent({1, 1, 2, {1, 254}, {}}));
}

TEST(image_fit, the_middle_is_cut_out) {
    const Image wide = {5, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {}};
    Image cut = cropped_to_aspect(wide, 100, 100);
    EXPECT_EQ(cut.width, 2u);
    EXPECT_EQ(cut.pixels, (Pixels{2, 3, 7, 8}));
    const Image tall = {2, 4, 1, {1, 2, 3, 4, 5, 6, 7, 8}, {}};
    cut = cropped_to_aspect(tall, 2, 2);
    EXPECT_EQ(cut.height, 2u);
    EXPECT_EQ(cut.pixels, (Pixels{3, 4, 5, 6}));
    cut = cropped_to_aspect(tall, 1, 16384);
    EXPECT_EQ(cut.width, 1u);
    EXPECT_EQ(cut.height, 4u);
}

TEST(image_fit, a_smaller_picture_has_the_means_of_areas) {
    const Image image = {4, 2, 1, {0, 10, 20, 30, 40, 50, 60, 70}, {}};
    EXPECT_EQ(resized(image, 2, 1).pixels, (Pixels{25, 45}));
    // Each covers a pixel and a half: (2 * 0 + 90) / 3 and (90 + 2 * 30) / 3.
    EXPECT_EQ(resized({3, 1, 1, {0, 90, 30}, {}}, 2, 1).pixels, (Pixels{30, 50}));
}

TEST(image_fit, a_larger_picture_repeats_pixels) {
    EXPECT_EQ(resized({2, 1, 1, {10, 20}, {}}, 4, 2).pixels, (Pixels{10, 10, 20, 20, 10, 10, 20, 20}));
    EXPECT_EQ(resized({1, 1, 3, {1, 2, 3}, {}}, 2, 1).pixels, (Pixels{1, 2, 3, 1, 2, 3}));
}

TEST(image_fit, one_color_stays_what_it_is) {
    for (const uint8_t value : {uint8_t(0), uint8_t(127), uint8_t(255)}) {
        const Image image = {97, 31, 1, Pixels(97 * 31, value), {}};
        for (const uint32_t size : {1u, 13u, 64u, 97u, 200u})
            EXPECT_EQ(resized(image, size, size).pixels, Pixels(size * size, value)) << size;
    }
}

} // namespace
} // namespace cli
