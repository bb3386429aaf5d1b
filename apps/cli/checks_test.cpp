#include "apps/cli/checks.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

std::string said(const CLI::Validator & check, std::string text) { return check(text); }

TEST(checks, whole_numbers_are_all_of_the_text_and_in_range) {
    const CLI::Validator check = whole_number(1, 100);
    for (const char * good : {"1", "100", "+7"}) EXPECT_EQ(said(check, good), "");
    EXPECT_EQ(said(check, "0"), "0 is not between 1 and 100");
    EXPECT_EQ(said(check, "101"), "101 is not between 1 and 100");
    EXPECT_EQ(said(check, "99999999999999999999"), "99999999999999999999 is not between 1 and 100");
    for (const char * bad : {"", "2x", "1e3", "0x10", " 1", "1.5", "-", "+"})
        EXPECT_EQ(said(check, bad), '"' + std::string(bad) + "\" is no whole number");
}

TEST(checks, numbers_are_finite_and_in_range) {
    const CLI::Validator check = number(0.0, 1.0);
    for (const char * good : {"0", "1", "0.5", "1e-3", ".5"}) EXPECT_EQ(said(check, good), "");
    EXPECT_EQ(said(check, "1.5"), "1.5 is not between 0 and 1");
    EXPECT_EQ(said(check, "inf"), "inf is not between 0 and 1");
    EXPECT_EQ(said(check, "nan"), "\"nan\" is no number");
    EXPECT_EQ(said(check, "0.5f"), "\"0.5f\" is no number");
}

TEST(checks, lists_of_numbers_have_a_number_in_every_place) {
    const CLI::Validator check = number_list(0.0, 1.0);
    for (const char * good : {"1", "1,0.5,0", "[1,0.5,0]", " [ 1 , 0.5 , 0 ] "})
        EXPECT_EQ(said(check, good), "");
    for (const char * bad : {"", ",,,", ",", "1,,0", "1,0,", ",1", "[]", "[1,,0]"})
        EXPECT_EQ(said(check, bad), '"' + std::string(bad) + "\" is no list of numbers, as 1,0.5,0");
    EXPECT_EQ(said(check, "1,0.5x,0"), "\"0.5x\" is no number");
    EXPECT_EQ(said(check, "1 0"), "\"1 0\" is no number");
    EXPECT_EQ(said(check, "[1,0"), "\"[1\" is no number");
    EXPECT_EQ(said(check, "2,1"), "2 is not between 0 and 1");
}

TEST(checks, words_are_listed) {
    EXPECT_EQ(said(one_of({"a", "b"}), "b"), "");
    EXPECT_EQ(said(one_of({"a", "b"}), "c"), "\"c\" is none of a, b");
}

TEST(checks, what_is_quoted_stays_one_short_line) {
    EXPECT_EQ(said(whole_number(0, 1), "a\nb\x1b"), "\"a b\\x1b\" is no whole number");
    EXPECT_LT(said(whole_number(0, 1), std::string(5000, 'y')).size(), 100u);
}

TEST(checks, pairs_are_one_number_or_two) {
    Pair pair = {};
    EXPECT_TRUE(parse_pair("32", pair));
    EXPECT_EQ(pair.y, 32.0);
    EXPECT_TRUE(parse_pair("0.5x2", pair));
    EXPECT_EQ(pair.x, 0.5);
    EXPECT_EQ(pair.y, 2.0);
    EXPECT_FALSE(parse_pair("", pair));
    EXPECT_EQ(said(whole_pair(4, 100), "32x3"), "3 is not between 4 and 100");
    for (const char * broken : {"32x", "x32", "8x8x8", "x", "32xx32"})
        EXPECT_EQ(said(whole_pair(4, 100), broken), '"' + std::string(broken) + "\" is neither X nor XxY");
    EXPECT_EQ(said(whole_pair(4, 100), ""), "\"\" is no whole number");
    EXPECT_EQ(said(number_pair(0, 100), "2x"), "\"2x\" is neither X nor XxY");
    EXPECT_EQ(said(number_pair(0, 100), "2x3y"), "\"3y\" is no number");
    EXPECT_EQ(said(number_pair(0, 100), "0.5x1.5"), "");
}

TEST(sizes, have_units_of_1000_and_of_1024) {
    const auto size = [](const char * text) {
        uint64_t bytes = 0;
        return parse_size(text, bytes) ? bytes : 0;
    };
    EXPECT_EQ(size("12345"), 12345u);
    EXPECT_EQ(size("7.5GiB"), 8053063680u);
    EXPECT_EQ(size("7.5gb"), 7500000000u);
    EXPECT_EQ(size("1KiB"), 1024u);
    EXPECT_EQ(size("2kB"), 2000u);
    EXPECT_EQ(size("3B"), 3u);
    EXPECT_EQ(size("1TiB"), uint64_t(1) << 40);
    for (const char * text :
         {"", "GiB", "0", "0.1", "-5", "7.5 GiB", "7,5GiB", "1e9", "7..5", "7Gi", "9999999TiB", "nan"})
        EXPECT_EQ(size(text), 0u) << text;
}

} // namespace
} // namespace cli
