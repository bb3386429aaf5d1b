#include "base/error.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

TEST(Error, is_one_line_of_the_parts_that_are_known) {
    EXPECT_STREQ(Error("cause").what(), "cause");
    EXPECT_STREQ(Error({"E_X", "f", "t", "cause", "advice"}).what(), "f: tensor t: cause (advice)");
    EXPECT_STREQ(Error({"E_X", "", "t", "cause", ""}).what(), "tensor t: cause");
    EXPECT_STREQ(Error({"E_X", "f", "", "cause", ""}).what(), "f: cause");
}

TEST(Error, gets_a_file_name_once) {
    const Error with = Error({"E_X", "", "t", "cause", ""}).in_file("f");
    EXPECT_STREQ(with.what(), "f: tensor t: cause");
    EXPECT_EQ(with.parts().code, "E_X");
    EXPECT_STREQ(with.in_file("g").what(), "f: tensor t: cause");
}

TEST(Error, names_cannot_forge_a_line_or_move_a_cursor) {
    EXPECT_STREQ(Error({"", "f\n", "\x1b[2J", "a\rb", ""}).what(), "f\\x0a: tensor \\x1b[2J: a\\x0db");
    EXPECT_LT(std::string(Error({"", "", std::string(100000, 't'), "c", ""}).what()).size(), 200u);
}

TEST(Printable, leaves_text_and_escapes_the_rest) {
    EXPECT_EQ(printable("größe 模型 😀"), "größe 模型 😀");
    EXPECT_EQ(printable(std::string_view("\0\x7f\t", 3)), "\\x00\\x7f\\x09");
    EXPECT_EQ(printable("\xc2\x9b"
                        "2J"),
              "\\xc2\\x9b2J");                                     // a control character in two bytes
    EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"), // overlong, surrogate, too large
              "\\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
    EXPECT_EQ(printable("\xe6\xa8"), "\\xe6\\xa8"); // cut in the middle
}

TEST(Printable, cuts_between_characters) {
    EXPECT_EQ(printable("abcd", 4), "abcd");
    EXPECT_EQ(printable("abcde", 4), "abcd...");
    EXPECT_EQ(printable("abcöe", 4), "abcö...");
    EXPECT_EQ(in_quotes("a\n", 9), "\"a\\x0a\"");
}

} // namespace
} // namespace sd
