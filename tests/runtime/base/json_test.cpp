#include "runtime/base/json.h"

#include "tests/support/json_value.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

std::string json_of(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

TEST(json, escapes_what_would_end_or_break_a_text) {
    EXPECT_EQ(json_of("a\"b\\c\nd\te\x01\x7f"), "\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\"");
    std::string all;
    for (int c = 1; c < 128; ++c) all += char(c);
    EXPECT_EQ(JsonReader::read(json_of(all)).string, all);
    EXPECT_EQ(json_of(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(json, keeps_utf8_and_replaces_every_byte_that_is_none) {
    const std::string good = "\xc3\xa4\xe2\x82\xac\xf0\x9f\x8e\xb2\xed\x9f\xbf\xf4\x8f\xbf\xbf";
    EXPECT_EQ(json_of(good), "\"" + good + "\"");
    const std::string bad = "\xef\xbf\xbd";
    EXPECT_EQ(json_of("\xc3"), "\"" + bad + "\"") << "a name cut in the middle of a character";
    EXPECT_EQ(json_of("\x80x"), "\"" + bad + "x\"");
    EXPECT_EQ(json_of("\xe2\x82"), "\"" + bad + bad + "\"");
    EXPECT_EQ(json_of("\xc0\xaf"), "\"" + bad + bad + "\"") << "overlong";
    EXPECT_EQ(json_of("\xe0\x80\xaf"), "\"" + bad + bad + bad + "\"") << "overlong";
    EXPECT_EQ(json_of("\xed\xa0\x80"), "\"" + bad + bad + bad + "\"") << "surrogate";
    EXPECT_EQ(json_of("\xf4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"")
        << "beyond the last character";
    EXPECT_EQ(json_of("\xff"), "\"" + bad + "\"");
}

TEST(json, writes_nested_values_with_commas_between_them) {
    JsonWriter json;
    json.begin('{');
    json.field("a", 1);
    json.key("b").begin('[');
    json.value(true);
    json.value("x");
    json.begin('{');
    json.end('}');
    json.end(']');
    json.field("c", uint64_t(UINT64_MAX));
    json.end('}');
    EXPECT_EQ(json.take(), "{\"a\":1,\"b\":[true,\"x\",{}],\"c\":18446744073709551615}");
}

} // namespace
} // namespace ggml::test
