#include "apps/cli/output_name.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

TEST(output_name, one_picture_has_the_name_itself) {
    EXPECT_EQ(output_name("a.png", 0, 1, -1), "a.png");
    EXPECT_EQ(output_name("a.JPG", 0, 1, 7), "a.JPG");
    EXPECT_EQ(output_name("x/y.webp", 0, 1, -1), "x/y.webp");
}

TEST(output_name, names_that_are_no_pictures_get_an_ending) {
    EXPECT_EQ(output_name("a", 0, 1, -1), "a.png");
    EXPECT_EQ(output_name("a.txt", 0, 1, -1), "a.txt.png");
    EXPECT_EQ(output_name("b.png/a", 0, 1, -1), "b.png/a.png");
}

TEST(output_name, several_pictures_are_numbered) {
    EXPECT_EQ(output_name("a.png", 0, 3, -1), "a_0.png");
    EXPECT_EQ(output_name("a.b/c", 2, 3, 10), "a.b/c_12.png");
}

TEST(output_name, patterns_hold_the_number) {
    EXPECT_EQ(output_name("a%d.png", 2, 3, -1), "a2.png");
    EXPECT_EQ(output_name("a%03d.png", 0, 1, 7), "a007.png");
    EXPECT_EQ(output_name("%2d%%d.jpg", 12, 20, 100), "112%d.jpg");
    EXPECT_EQ(output_name("100%.png", 0, 1, -1), "100%.png");
    EXPECT_EQ(output_name("%s%n%99999d", 0, 1, -1), "%s%n%99999d.png");
}

} // namespace
} // namespace cli
