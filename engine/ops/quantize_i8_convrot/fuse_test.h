// For the tests of the rules that end in quantize_i8_convrot; fuse_checks_test.cpp has the definitions.
#pragma once

#include "ggml-ext-tools.h" // ggml_ext_build_t
#include "ops/common/test_graph.h"
#include "sd-ggml-ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sd::test {

inline void expect_same_bytes(const Outcome & got, const Outcome & expected, const std::string & what) {
    ASSERT_EQ(got.status, GGML_STATUS_SUCCESS) << what << ": " << ggml_ext_last_message();
    ASSERT_EQ(got.ne, expected.ne) << what;
    const auto different =
        std::mismatch(got.bytes.begin(), got.bytes.end(), expected.bytes.begin(), expected.bytes.end());
    ASSERT_EQ(different.first - got.bytes.begin(), int64_t(expected.bytes.size()))
        << what << ": the first byte that differs";
}

// Fusion leaves out `n_nodes` nodes, and the bytes are those of the nodes one by one, at every instruction
// set.
void check_fused(const Build & build, int n_nodes, const std::string & what);

// Nothing is left out, and the result is that of the nodes.
void check_not_fused(const Build & build, const std::string & what, const RunOptions & options = {});

// The result over each input in turn: `n_nodes` are left out and the bytes stay the same.
void check_over_inputs(const Build & build, int n_nodes, const std::vector<ggml_tensor *> & inputs);

// 400 changed graphs. `build` marks its leafs as inputs.
void fuzz(const char * rule, ggml_ext_build_t build, void * user_data, uint64_t seed);

// Rows of every kind: ordinary, huge, tiny, zero, with NaN, with an infinity. At least 6 rows.
void make_rows_special(ggml_tensor * x);

// Row lengths and groups that meet every path of rotation and every remainder of vectors.
struct Length {
    int64_t k;
    int group;
};
inline const std::vector<Length> kLengths = {{1, 1},    {3, 1},     {17, 1},    {100, 1},     {4, 4},
                                             {20, 4},   {132, 4},   {2500, 4},  {48, 16},     {64, 64},
                                             {320, 64}, {256, 256}, {768, 256}, {2048, 1024}, {4096, 4096}};

inline std::string length_text(const Length & l) {
    return "k " + std::to_string(l.k) + ", group " + std::to_string(l.group);
}

} // namespace sd::test
