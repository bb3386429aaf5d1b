#include "apps/cli/image/contact_sheet.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

TEST(contact_sheet, is_as_wide_as_high_or_a_column_wider) {
    EXPECT_EQ(SheetPlan::of(1, 1).columns, 1u);
    EXPECT_EQ(SheetPlan::of(1, 2).columns, 2u);
    EXPECT_EQ(SheetPlan::of(4, 1).columns, 2u);
    EXPECT_EQ(SheetPlan::of(5, 1).columns, 3u);
    const SheetPlan twelve = SheetPlan::of(12, 1);
    EXPECT_EQ(twelve.columns, 4u);
    EXPECT_EQ(twelve.width(64), 4u * 64 + 3 * 8);
    EXPECT_EQ(twelve.height(64), 3u * 64 + 2 * 8);
    EXPECT_EQ(SheetPlan::of(1, 13).height(64), 4u * 64 + 3 * 8);
    // Sizes are computed before they are refused.
    EXPECT_EQ(SheetPlan::of(10000, 1).width(16384), 100u * 16384 + 99 * 8);
}

TEST(contact_sheet, has_a_row_for_each_of_several_batches) {
    const SheetPlan plan = SheetPlan::of(5, 2);
    EXPECT_EQ(plan.count, 10u);
    EXPECT_EQ(plan.width(64), 2u * 64 + 8);
    EXPECT_EQ(plan.height(48), 5u * 48 + 4 * 8);
}

TEST(contact_sheet, shows_pictures_row_by_row_on_white) {
    ContactSheet sheet(3, 2, SheetPlan::of(3, 1));
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
