#include "ops/common/float_rounding.h"
#include "ops/sage_attn/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace sd {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Row t is (t + 1) times a pattern whose largest element is 1.
SageRows rising(int64_t size, int64_t tokens) {
    SageRows rows(size, tokens);
    for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t i = 0; i < size; ++i)
            rows.row(t)[i] = float(t + 1) * (i == 0 ? 1.0f : 1.0f / float(i + 1));
    }
    return rows;
}

// The tokens that have the scale of token `t`.
std::set<int64_t> sharing(const SageCodes & codes, int64_t t) {
    std::set<int64_t> tokens;
    for (size_t i = 0; i < codes.scale.size(); ++i) {
        if (codes.scale[i] == codes.scale[size_t(t)]) tokens.insert(int64_t(i));
    }
    return tokens;
}

std::set<int64_t> range(int64_t first, int64_t last) {
    std::set<int64_t> tokens;
    for (; first < last; ++first) tokens.insert(first);
    return tokens;
}

TEST(sage_quantize, warps_of_queries_and_blocks_of_keys_share_a_scale) {
    const SageCodes q = sage_quantize_queries(rising(64, 70), SageScales::per_warp);
    EXPECT_EQ(sharing(q, 40), range(32, 64));
    EXPECT_EQ(sharing(q, 69), range(64, 70)) << "the last warp is short";
    const SageCodes k = sage_quantize_keys(rising(64, 70), SageScales::per_warp);
    EXPECT_EQ(sharing(k, 0), range(0, 64));
    EXPECT_EQ(sharing(k, 65), range(64, 70));
}

TEST(sage_quantize, threads_hold_four_queries_or_sixteen_keys) {
    const SageCodes q = sage_quantize_queries(rising(64, 70), SageScales::per_thread);
    EXPECT_EQ(sharing(q, 3), (std::set<int64_t>{3, 11, 19, 27}));
    EXPECT_EQ(sharing(q, 64), (std::set<int64_t>{64}));
    const SageCodes k = sage_quantize_keys(rising(64, 70), SageScales::per_thread);
    EXPECT_EQ(sharing(k, 2),
              (std::set<int64_t>{2, 3, 10, 11, 18, 19, 26, 27, 34, 35, 42, 43, 50, 51, 58, 59}));
    EXPECT_EQ(sharing(k, 69), (std::set<int64_t>{68, 69}));
}

TEST(sage_quantize, codes_times_scale_are_within_half_a_step) {
    for (const SageScales scales : {SageScales::per_warp, SageScales::per_thread}) {
        const SageRows rows = rising(128, 100);
        for (const SageCodes & codes :
             {sage_quantize_queries(rows, scales), sage_quantize_keys(rows, scales)}) {
            for (int64_t t = 0; t < rows.tokens; ++t) {
                const float scale = codes.scale[size_t(t)];
                for (int64_t i = 0; i < rows.size; ++i)
                    EXPECT_NEAR(float(codes.row(t)[i]) * scale, rows.row(t)[i], 0.5001f * scale);
            }
        }
    }
}

TEST(sage_quantize, rows_that_are_not_finite_decide_no_scale) {
    SageRows rows = rising(64, 32);
    const SageCodes clean = sage_quantize_queries(rows, SageScales::per_warp);
    rows.row(5)[7] = kNan;
    rows.row(6)[0] = std::numeric_limits<float>::infinity();
    const SageCodes dirty = sage_quantize_queries(rows, SageScales::per_warp);
    EXPECT_EQ(dirty.scale, clean.scale);
    for (int64_t t = 0; t < 32; ++t) {
        EXPECT_EQ(dirty.finite[size_t(t)], t != 5 && t != 6);
        if (dirty.finite[size_t(t)]) {
            EXPECT_TRUE(std::equal(dirty.row(t), dirty.row(t) + 64, clean.row(t)));
        }
    }
}

TEST(sage_quantize, zero_rows_have_zero_codes) {
    const SageCodes codes = sage_quantize_keys(SageRows(64, 3), SageScales::per_thread);
    for (const float scale : codes.scale) EXPECT_GT(scale, 0.0f);
    EXPECT_EQ(codes.codes, std::vector<int8_t>(3 * 64));
}

TEST(sage_quantize, the_mean_is_over_the_finite_rows_asked_for) {
    SageRows rows = rising(64, 6);
    rows.row(2)[0] = kNan;
    EXPECT_EQ(sage_mean(rows, 1, 5)[0], (2.0f + 4.0f + 5.0f) / 3.0f);
    sage_subtract(rows, 1, 5, sage_mean(rows, 1, 5));
    EXPECT_EQ(rows.row(0)[0], 1.0f);
    EXPECT_NEAR(rows.row(1)[0] + rows.row(3)[0] + rows.row(4)[0], 0.0f, 1e-6f);
    EXPECT_EQ(sage_mean(rows, 2, 3), std::vector<float>(64)) << "none is finite";
}

TEST(sage_quantize, values_use_the_range_of_their_column) {
    const std::pair<SageValues, float> ranges[] = {{SageValues::fp8, 448.0f}, {SageValues::fp8_f16, 2.25f}};
    for (const auto & [how, range_of] : ranges) {
        const SageRows v = rising(64, 40);
        const SageQuantizedValues out = sage_quantize_values(v, how);
        for (int64_t i = 0; i < 64; ++i) {
            EXPECT_EQ(out.rows.row(39)[i], range_of) << "the largest of column " << i;
            for (int64_t t = 0; t < 40; ++t) // 3 fraction bits
                EXPECT_NEAR(out.rows.row(t)[i] * out.scale[size_t(i)], v.row(t)[i], v.row(t)[i] / 15.9f);
        }
    }
    const SageQuantizedValues halves = sage_quantize_values(rising(64, 40), SageValues::f16);
    EXPECT_EQ(halves.rows.row(6)[2], as_f16(7.0f / 3.0f));
    EXPECT_EQ(halves.scale, std::vector<float>(64, 1.0f));
}

TEST(sage_quantize, a_value_that_is_not_finite_spoils_its_column_alone) {
    for (const SageValues how : {SageValues::f16, SageValues::fp8, SageValues::fp8_f16}) {
        SageRows v = rising(64, 3);
        v.row(1)[5] = std::numeric_limits<float>::infinity();
        const SageQuantizedValues out = sage_quantize_values(v, how);
        for (int64_t t = 0; t < 3; ++t) {
            for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(out.rows.row(t)[i]), i == 5);
        }
    }
}

} // namespace
} // namespace sd
