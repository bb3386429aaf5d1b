#include "pipeline/masked_pixels.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

// Pixels with all channels at `value` and the last, if there is a fourth, at 7.
Picture picture(int width, int height, int channels, std::vector<uint8_t> values) {
    Picture p = {width, height, channels, {}};
    for (const uint8_t value : values) {
        for (int c = 0; c < channels; ++c) p.pixels.push_back(c == 3 ? 7 : value);
    }
    return p;
}

TEST(masked_pixels, stay_where_the_mask_is_black) {
    Picture out = picture(3, 2, 3, {1, 2, 3, 4, 5, 6});
    keep_masked_pixels(picture(3, 2, 3, {11, 12, 13, 14, 15, 16}),
                       picture(3, 2, 1, {0, 255, 127, 128, 0, 200}), out);
    EXPECT_EQ(out.pixels, picture(3, 2, 3, {11, 2, 13, 4, 15, 6}).pixels);
}

TEST(masked_pixels, are_looked_up_in_pictures_of_other_sizes_and_channels) {
    Picture out = picture(4, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8});
    keep_masked_pixels(picture(2, 1, 4, {21, 22}), picture(4, 1, 1, {0, 255, 255, 0}), out);
    EXPECT_EQ(out.pixels, picture(4, 2, 3, {21, 2, 3, 22, 21, 6, 7, 22}).pixels);
}

} // namespace
} // namespace sd
