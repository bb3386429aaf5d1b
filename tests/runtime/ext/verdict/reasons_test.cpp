#include "runtime/ext/verdict/reasons.h"

#include "ggml-ext.h"

#include <bit>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>

namespace ggml::ext {
namespace {

// The largest number the type can hold; larger ones cannot even be passed in C++.
ggml_ext_reason largest_number() {
    return ggml_ext_reason(std::bit_ceil(unsigned(GGML_EXT_REASON_COUNT) + 1) - 1);
}

TEST(ext_reasons, have_a_word_of_their_own_and_a_sentence) {
    std::set<std::string> words, sentences;
    for (int i = 0; i < GGML_EXT_REASON_COUNT; ++i) {
        const std::string word = ggml_ext_reason_name(ggml_ext_reason(i));
        const std::string sentence = ggml_ext_reason_text(ggml_ext_reason(i));
        EXPECT_TRUE(words.insert(word).second) << word << " is given twice";
        EXPECT_TRUE(sentences.insert(sentence).second) << sentence;
        EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_."), std::string::npos)
            << word;
        EXPECT_GT(sentence.size(), 10u) << word;
    }
    EXPECT_STREQ(ggml_ext_reason_name(GGML_EXT_REASON_NONE), "none");
    EXPECT_STREQ(ggml_ext_reason_name(GGML_EXT_REASON_EXTERNAL_USE), "fusion.external_use");
}

TEST(ext_reasons, outside_the_list_are_unknown) {
    for (const ggml_ext_reason reason : {GGML_EXT_REASON_COUNT, largest_number()}) {
        EXPECT_STREQ(ggml_ext_reason_name(reason), "unknown");
        EXPECT_STREQ(ggml_ext_reason_text(reason), "unknown");
    }
}

TEST(ext_reasons, page_is_made_from_the_list) {
    std::ifstream page(CONVROT_SOURCE_DIR "/docs/extension-reasons.md");
    ASSERT_TRUE(page.is_open());
    std::stringstream text;
    text << page.rdbuf();
    EXPECT_NE(text.str().find(reasons_markdown()), std::string::npos)
        << "docs/extension-reasons.md must contain:\n"
        << reasons_markdown();
}

} // namespace
} // namespace ggml::ext
