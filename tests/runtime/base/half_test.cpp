#include "runtime/base/half.h"

#include "ggml.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace {

using namespace ggml;

constexpr int kCodes = 65536;

// The definition of the format, in double arithmetic.
double half_by_definition(uint32_t code) {
    const int exponent = int((code >> 10) & 31);
    const int mantissa = int(code & 0x3ff);
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return code & 0x8000 ? -magnitude : magnitude;
}

bool is_half_nan(uint32_t code) { return (code & 0x7fff) > 0x7c00; }

TEST(half, reads_every_code_as_the_format_defines_it) {
    for (uint32_t code = 0; code < kCodes; ++code) {
        const float value = half_to_float(uint16_t(code));
        if ((code & 0x7c00) == 0x7c00) {
            EXPECT_EQ(std::isnan(value), is_half_nan(code)) << code;
            EXPECT_EQ(std::isinf(value), !is_half_nan(code)) << code;
        } else {
            EXPECT_EQ(double(value), half_by_definition(code)) << code;
        }
        EXPECT_EQ(std::signbit(value), (code & 0x8000) != 0) << code;
    }
}

TEST(half, writes_every_readable_value_back_to_its_code) {
    for (uint32_t code = 0; code < kCodes; ++code) {
        const uint16_t back = float_to_half(half_to_float(uint16_t(code)));
        // A signalling NaN comes back quiet, with its payload.
        EXPECT_EQ(back, is_half_nan(code) ? code | 0x200 : code);
    }
}

TEST(half, rounds_ties_to_the_even_code_and_neighbours_to_the_nearest) {
    for (uint32_t code = 0; code < 0x7bff; ++code) {
        const float low = half_to_float(uint16_t(code));
        const float high = half_to_float(uint16_t(code + 1));
        const float middle = low + (high - low) / 2; // exact: a half has 13 bits less than a float
        const uint32_t even = code % 2 == 0 ? code : code + 1;
        EXPECT_EQ(float_to_half(middle), even) << code;
        EXPECT_EQ(float_to_half(std::nextafter(middle, 0.0f)), code) << code;
        EXPECT_EQ(float_to_half(std::nextafter(middle, 1e9f)), code + 1) << code;
        EXPECT_EQ(float_to_half(-middle), even | 0x8000) << code;
    }
}

TEST(half, overflows_to_infinity_from_65520) {
    EXPECT_EQ(float_to_half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
    EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
    EXPECT_EQ(float_to_half(-3e38f), 0xfc00);
    EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(half, underflows_to_zero_with_the_sign_kept) {
    EXPECT_EQ(float_to_half(0x1p-25f), 0); // a tie: zero is even
    EXPECT_EQ(float_to_half(std::nextafter(0x1p-25f, 1.0f)), 1);
    EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
    EXPECT_EQ(float_to_half(-0x1p-25f), 0x8000);
    EXPECT_EQ(float_to_half(-0.0f), 0x8000);
}

TEST(half, keeps_a_nan_whose_payload_lies_in_the_dropped_bits) {
    const float low_payload = std::bit_cast<float>(0x7f800001u);
    EXPECT_TRUE(is_half_nan(float_to_half(low_payload)));
    EXPECT_TRUE(is_half_nan(float_to_half(-std::numeric_limits<float>::quiet_NaN())));
}

TEST(bf16, is_the_upper_half_of_a_float_for_every_code) {
    for (uint32_t code = 0; code < kCodes; ++code) {
        const float value = bf16_to_float(uint16_t(code));
        EXPECT_EQ(std::bit_cast<uint32_t>(value), code << 16);
        const bool nan = (code & 0x7fff) > 0x7f80;
        EXPECT_EQ(float_to_bf16(value), nan ? code | 0x40 : code);
    }
}

TEST(bf16, rounds_ties_to_the_even_code) {
    for (uint32_t code = 0; code < 0x7f80; ++code) {
        const uint32_t tie = code << 16 | 0x8000;
        EXPECT_EQ(float_to_bf16(std::bit_cast<float>(tie)), code % 2 == 0 ? code : code + 1);
        EXPECT_EQ(float_to_bf16(std::bit_cast<float>(tie - 1)), code);
        EXPECT_EQ(float_to_bf16(std::bit_cast<float>(tie + 1)), code + 1);
    }
}

TEST(bf16, keeps_a_nan_whose_payload_lies_in_the_dropped_bits) {
    EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001u)))));
    EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0xffffffffu)))));
}

TEST(half, public_rows_agree_with_the_scalar_functions_at_every_length) {
    std::vector<ggml_fp16_t> codes(kCodes);
    for (int i = 0; i < kCodes; ++i) codes[i] = ggml_fp16_t(i);
    std::vector<float> values(kCodes);
    ggml_fp16_to_fp32_row(codes.data(), values.data(), kCodes);
    for (int i = 0; i < kCodes; ++i) {
        const float scalar = ggml_fp16_to_fp32(codes[i]);
        ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(scalar));
    }
    for (int length = 0; length < 40; ++length) {
        std::vector<ggml_fp16_t> back(41, 0xabcd);
        ggml_fp32_to_fp16_row(values.data() + 1000, back.data(), length);
        for (int i = 0; i < length; ++i) ASSERT_EQ(back[i], ggml_fp32_to_fp16(values[1000 + i]));
        ASSERT_EQ(back[length], 0xabcd);
    }
}

TEST(bf16, public_rows_agree_with_the_scalar_functions_at_every_length) {
    for (int length = 0; length < 40; ++length) {
        std::vector<float> values(40);
        for (int i = 0; i < 40; ++i) values[i] = std::ldexp(1.0f + float(i) / 511.0f, i - 20);
        std::vector<ggml_bf16_t> row(41, ggml_bf16_t{0xabcd}), reference(41);
        ggml_fp32_to_bf16_row(values.data(), row.data(), length);
        ggml_fp32_to_bf16_row_ref(values.data(), reference.data(), length);
        std::vector<float> back(40);
        ggml_bf16_to_fp32_row(row.data(), back.data(), length);
        for (int i = 0; i < length; ++i) {
            ASSERT_EQ(row[i].bits, ggml_fp32_to_bf16(values[i]).bits);
            ASSERT_EQ(reference[i].bits, row[i].bits);
            ASSERT_EQ(back[i], ggml_bf16_to_fp32(row[i]));
        }
        ASSERT_EQ(row[length].bits, 0xabcd);
    }
}

} // namespace
