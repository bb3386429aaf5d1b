#include "runtime/base/status.h"

#include <gtest/gtest.h>
#include <set>

namespace {

using namespace ggml;

TEST(status, default_is_success) {
    const Status status;
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(status.message(), "ok");
}

TEST(status, failure_carries_reason_and_numbers) {
    const Status status = failure("gguf.bad_version", "found %d, %d to %d are readable", 9, 2, 3);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.code, GGML_STATUS_FAILED);
    EXPECT_STREQ(status.reason_id, "gguf.bad_version");
    EXPECT_EQ(status.message(), "gguf.bad_version: found 9, 2 to 3 are readable");
}

TEST(status, out_of_memory_says_how_much_for_what) {
    const Status status = out_of_memory("the tensor list", 123);
    EXPECT_EQ(status.code, GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(status.message(), "out_of_memory: 123 bytes for the tensor list");
}

TEST(status, every_public_code_has_its_own_text) {
    std::set<std::string> texts;
    for (int code = -3; code <= 1; ++code) texts.insert(ggml_status_to_string(ggml_status(code)));
    EXPECT_EQ(texts.size(), 5u); // four codes and one text for all others
    EXPECT_STREQ(ggml_status_to_string(ggml_status(77)), ggml_status_to_string(ggml_status(-3)));
}

} // namespace
