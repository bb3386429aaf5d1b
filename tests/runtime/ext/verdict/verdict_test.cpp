#include "runtime/ext/verdict/guard.h"
#include "runtime/ext/verdict/verdict.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>
#include <new>
#include <thread>

namespace ggml::ext {
namespace {

TEST(ext_verdict, says_reason_and_words) {
    Verdict why;
    EXPECT_FALSE(why.refused());
    EXPECT_FALSE(refuse(&why, GGML_EXT_REASON_EXTERNAL_USE, 5, "node %d '%s' is also read", 5, "x"));
    EXPECT_TRUE(why.refused());
    EXPECT_EQ(why.node, 5);
    EXPECT_EQ(why.message(), "fusion.external_use: node 5 'x' is also read");
}

TEST(ext_verdict, without_words_speaks_in_the_sentence_of_its_reason) {
    Verdict why;
    why.reason = GGML_EXT_REASON_NO_MEMORY;
    EXPECT_EQ(why.message(), "no_memory: Memory ran out.");
}

TEST(ext_verdict, costs_nothing_when_nobody_asks) {
    EXPECT_FALSE(refuse(nullptr, GGML_EXT_REASON_NO_MATCH, -1, "%d", 1));
    EXPECT_FALSE(ggml_ext_refuse(nullptr, "%d", 1));
    EXPECT_EQ(ggml_ext_refuse_match(nullptr, 3, "%d", 1), 0);
}

TEST(ext_verdict, takes_the_words_of_a_callback) {
    Verdict why;
    EXPECT_FALSE(ggml_ext_refuse(&why, "K = %lld is no multiple of 32", 33ll));
    EXPECT_EQ(why.reason, GGML_EXT_REASON_CALLBACK);
    EXPECT_EQ(why.words, "K = 33 is no multiple of 32");
    EXPECT_EQ(why.matched, 0);
    EXPECT_EQ(ggml_ext_refuse_match(&why, 2, "third node is %s", "ADD"), 0);
    EXPECT_EQ(why.words, "third node is ADD");
    EXPECT_EQ(why.matched, 2);
}

TEST(ext_verdict, copies_text_of_any_length) {
    Verdict why;
    const std::string text(100000, 'x');
    ggml_ext_refuse(&why, "%s", text.c_str());
    EXPECT_EQ(why.words, text);
}

TEST(ext_answer, is_kept_for_its_thread_until_the_next_refusal) {
    EXPECT_EQ(answer(GGML_EXT_LATE, GGML_EXT_REASON_LATE, "device %s", "D"), GGML_EXT_LATE);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_LATE);
    EXPECT_STREQ(ggml_ext_last_message(), "device D");
    EXPECT_EQ(answer(GGML_EXT_SUCCESS, Verdict{}), GGML_EXT_SUCCESS);
    EXPECT_STREQ(ggml_ext_last_message(), "device D") << "success does not erase it";
    std::thread([] {
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NONE);
        EXPECT_STREQ(ggml_ext_last_message(), "");
        answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "other thread");
    }).join();
    EXPECT_STREQ(ggml_ext_last_message(), "device D");
    answer(GGML_EXT_INVALID, GGML_EXT_REASON_NULL_ARGUMENT, "again: %s", ggml_ext_last_message());
    EXPECT_STREQ(ggml_ext_last_message(), "again: device D") << "the last message may be part of the next";
}

TEST(ext_answer, is_logged_only_on_request) {
    test::LogCapture log;
    Verdict why;
    refuse(&why, GGML_EXT_REASON_INPUT_GAP, -1, "no inputs");
    answer(GGML_EXT_REFUSED, why);
    EXPECT_EQ(log.text, "");
    answer(GGML_EXT_REFUSED, why, /*log=*/true);
    EXPECT_EQ(log.text, "ggml_ext: no inputs (schema.input_gap)\n");
}

TEST(ext_answer, stands_for_memory_that_ran_out) {
    EXPECT_EQ(guarded("do nothing", [] { return GGML_EXT_SUCCESS; }), GGML_EXT_SUCCESS);
    EXPECT_EQ(guarded("test", []() -> ggml_ext_status { throw std::bad_alloc(); }), GGML_EXT_NO_MEMORY);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NO_MEMORY);
    EXPECT_STREQ(ggml_ext_last_message(), "no memory to test");
}

} // namespace
} // namespace ggml::ext
