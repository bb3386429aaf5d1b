// Expecting the one line that ends a run.
#pragma once

#include "tools/op-bench/failure.h"

#include <gtest/gtest.h>

namespace op_bench {

template <class Fn>
void expect_failure(Fn && fn, const std::string & words) {
    try {
        fn();
        ADD_FAILURE() << "nothing was refused where '" << words << "' was expected";
    } catch (const Failure & failure) {
        const std::string text = failure.what();
        EXPECT_NE(text.find(words), std::string::npos) << text << "\nwithout: " << words;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
}

} // namespace op_bench
