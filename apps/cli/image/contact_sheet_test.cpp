#include "apps/cli/image/contact_sheet.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

TEST(contact_sheet, is_as_wide_as_high_or_a_column_wider) {
    EXPECT_EQ(ContactSheet::columns_of(1), 1u);
    EXPECT_EQ(ContactSheet::columns_of(2), 2u);
    EXPECT_EQ(ContactSheet::columns_of(4), 2u);
    EXPECT_EQ(ContactSheet::columns_of(5), 3u);
    EXPECT_EQ(ContactSheet::columns_of(12), 4u);
    EXPECT_EQ(ContactSheet::width_of(64, 12), 4u * 64 + 3 * 8);
    EXPECT_EQ(ContactSheet::height_of(64, 12), 3u * 64 + 2 * 8);
    EXPECT_EQ(ContactSheet::height_of(64, 13), 4u * 64 + 3 * 8);
    // Sizes are computed before they are refused.
    EXPECT_EQ(ContactSheet::width_of(16384, 10000), 100u * 16384 + 99 * 8);
}

TEST(contact_sheet, shows_pictures_row_by_row_on_white) {
    ContactSheet sheet(3, 2, 3);
    for (uint8_t i = 0; i < 3; ++i) {
        std::vector<uint8_t> pixels(3 * 2 * 3, uint8_t(i + 1));
        pixels.back() = 100; // blue of the last pixel
        sheet.put(i, {3, 2, 3, pixels.data()});
    }
    const Image & image = sheet.image();
    EXPECT_EQ(image.width, 3u * 2 + 8);
    EXPECT_EQ(image.height, 2u * 2 + 8);
    EXPECT_EQ(image.pixels.size(), size_t(14) * 12 * 3);
    const auto at = [&](size_t x, size_t y, size_t c) {
        return int(image.pixels[(y * image.width + x) * 3 + c]);
    };
    EXPECT_EQ(at(0, 0, 0), 1);
    EXPECT_EQ(at(2, 1, 2), 100);
    EXPECT_EQ(at(3, 0, 0), 255);
    EXPECT_EQ(at(11, 0, 0), 2);
    EXPECT_EQ(at(13, 1, 2), 100);
    EXPECT_EQ(at(0, 2, 1), 255);
    EXPECT_EQ(at(0, 10, 1), 3);
    EXPECT_EQ(at(2, 11, 2), 100);
    EXPECT_EQ(at(11, 10, 0), 255) << "there is no fourth";
}

} // namespace
} // namespace cli
