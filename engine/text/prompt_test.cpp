#include "text/prompt.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

void expect_fragments(const std::string & prompt, const std::vector<Fragment> & expected) {
    const std::vector<Fragment> got = parse_prompt(prompt);
    ASSERT_EQ(got.size(), expected.size()) << prompt;
    for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].text, expected[i].text) << prompt;
        EXPECT_NEAR(got[i].weight, expected[i].weight, 1e-6) << prompt << ", " << got[i].text;
    }
}

TEST(prompt, weighs_what_brackets_hold) {
    expect_fragments("a (red:1.4) cat and a [blue] ((dog)) under \\(moon\\)", {{"a ", 1},
                                                                               {"red", 1.4f},
                                                                               {" cat and a ", 1},
                                                                               {"blue", 1 / 1.1f},
                                                                               {" ", 1},
                                                                               {"dog", 1.21f},
                                                                               {" under (moon)", 1}});
    expect_fragments("(a (b:2) c:3)", {{"a ", 3}, {"b", 6}, {" c", 3}});
    expect_fragments("(x:-0.5)(y:+2)", {{"x", -0.5f}, {"y", 2}});
}

TEST(prompt, closes_what_stays_open_at_the_end) {
    expect_fragments("(a", {{"a", 1.1f}});
    expect_fragments("b [a", {{"b ", 1}, {"a", 1 / 1.1f}});
}

TEST(prompt, keeps_what_is_no_bracket_as_text) {
    expect_fragments("a) b] :1.5)", {{"a) b] :1.5)", 1}});
    expect_fragments("(a:1.2.3)", {{"a:1.2.3", 1.1f}});
    expect_fragments("(a:b)", {{"a:b", 1.1f}});
    expect_fragments("(a]", {{"a]", 1.1f}});
    expect_fragments("\\\\ \\[ \\n", {{"\\ [ \\n", 1}});
    expect_fragments("BREAK", {{"BREAK", 1}});
    expect_fragments("a\\", {{"a\\", 1}});
}

TEST(prompt, joins_neighbours_of_equal_weight_and_drops_empty_ones) {
    expect_fragments("(a)(b)", {{"ab", 1.1f}});
    expect_fragments("()", {});
    expect_fragments("", {});
    expect_fragments("a(b:1)c", {{"abc", 1}});
}

TEST(prompt, takes_any_depth_of_brackets) {
    const std::string deep(1 << 20, '(');
    EXPECT_EQ(parse_prompt(deep + "x").size(), 1u);
    EXPECT_EQ(parse_prompt(std::string(1 << 20, ')')).size(), 1u);
}

} // namespace
} // namespace sd
