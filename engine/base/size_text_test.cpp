#include "base/size_text.h"

#include <gtest/gtest.h>

namespace sd::test {
namespace {

TEST(size_text, units_are_those_of_1024) {
    EXPECT_EQ(size_text(0), "0 bytes");
    EXPECT_EQ(size_text(1023), "1023 bytes");
    EXPECT_EQ(size_text(1536), "1.50 KiB");
    EXPECT_EQ(size_text(uint64_t(12) << 30), "12.00 GiB");
    EXPECT_EQ(size_text(UINT64_MAX), "16777216.00 TiB");
}

} // namespace
} // namespace sd::test
