#include "apps/cli/text.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

TEST(text, valid_utf8_is_valid_to_its_last_character) {
    for (const char * good : {"", "abc", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                              "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(invalid_utf8(good), std::string::npos);
}

TEST(text, each_kind_of_wrong_bytes_is_found_where_it_begins) {
    // A lone continuation, overlong forms, surrogates, beyond the last character, cut short.
    for (const char * bad :
         {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe7\x8c", "\xc3"})
        EXPECT_EQ(invalid_utf8(std::string("ab") + bad), 2u) << bad;
}

TEST(text, latin1_is_used_only_where_it_has_the_character) {
    EXPECT_EQ(to_latin1("caf\xc3\xa9"), "caf\xe9");
    EXPECT_EQ(to_latin1("\xc4\x80"), std::nullopt);
    EXPECT_EQ(from_latin1("caf\xe9"), "caf\xc3\xa9");
    EXPECT_EQ(to_utf8("caf\xe9"), "caf\xc3\xa9");
    EXPECT_EQ(to_utf8("caf\xc3\xa9"), "caf\xc3\xa9");
}

TEST(text, terminals_get_no_control_characters) {
    EXPECT_EQ(printable("a\n\tb\x1b[31m\x7f\r \xc2\x9b"
                        "c \xff \xe7\x8c\xab"),
              "a\n\tb\\x1b[31m\\x7f\\x0d \\xc2"
              "c \\xff \xe7\x8c\xab");
}

} // namespace
} // namespace cli
