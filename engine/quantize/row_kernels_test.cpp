#include "quantize/row_kernels.h"

#include "checkpoint/values/codecs.h"
#include "quantize/codebook.h"
#include "quantize/test_reference.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace sd {
namespace {

using test::Numbers;

constexpr int kGroups[] = {1, 4, 16, 64, 256, 1024, 4096};

template <class Fn>
void for_each_isa(const Fn & fn) {
    ggml::test::for_each_isa([&](ggml::cpu::Isa) { fn(); });
}

TEST(row_kernels, rotation_has_the_bits_of_the_plain_one_in_order) {
    for_each_isa([] {
        for (const int group : kGroups) {
            Numbers numbers{uint64_t(group)};
            for (const int64_t k : {int64_t(group), int64_t(3) * group, int64_t(35) * std::max(group, 4)}) {
                const std::vector<float> x = numbers.row(k);
                std::vector<float> y(x.size());
                const uint32_t bits = rotate_row(x.data(), k, group, y.data());
                const std::vector<float> expected = test::rotated(x, group);
                ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
                    << group << ", " << k;
                EXPECT_EQ(std::bit_cast<float>(bits), test::largest(expected));
            }
        }
    });
}

TEST(row_kernels, what_is_not_finite_shows_in_the_largest_magnitude) {
    for_each_isa([] {
        for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
            for (const size_t at : {0, 7, 41, 67}) {
                std::vector<float> x(68, 1.0f), y(68);
                x[at] = bad;
                for (const int group : {1, 4})
                    EXPECT_GE(rotate_row(x.data(), 68, group, y.data()), 0x7f800000u);
            }
        }
        std::vector<float> x(16, std::numeric_limits<float>::max()), y(16);
        x[15] = -x[15];
        EXPECT_GE(rotate_row(x.data(), 16, 16, y.data()), 0x7f800000u) << "finite, but not when rotated";
    });
}

TEST(row_kernels, codes_are_quotients_rounded_to_even) {
    for_each_isa([] {
        std::vector<float> r;
        for (int i = -1000; i <= 1000; ++i) r.push_back(float(i) * 0.125f);
        Numbers numbers(3);
        for (int i = 0; i < 1000; ++i) r.push_back(numbers.next());
        for (const float scale : {0.25f, 1.0f, 0.3f, 1e-30f}) {
            for (const int limit : {7, 127}) {
                std::vector<int8_t> codes(r.size());
                divide_to_codes(r.data(), int64_t(r.size()), scale, limit, codes.data());
                ASSERT_EQ(codes, test::rounded(r, scale, limit)) << scale << ", " << limit;
            }
        }
    });
}

TEST(row_kernels, nibbles_hold_the_even_element_in_the_low_half) {
    for_each_isa([] {
        std::vector<int8_t> codes, back;
        for (int i = 0; i < 256; ++i)
            codes.push_back(int8_t(i % 16 - 8)), codes.push_back(int8_t(i / 16 - 8));
        std::vector<std::byte> packed(codes.size() / 2);
        pack_nibbles(codes.data(), int64_t(codes.size()), packed.data());
        for (size_t i = 0; i < packed.size(); ++i)
            ASSERT_EQ(packed[i], std::byte((codes[2 * i] & 15) + 16 * (codes[2 * i + 1] & 15)));
        back.resize(codes.size());
        unpack_nibbles(packed.data(), int64_t(codes.size()), back.data());
        EXPECT_EQ(back, codes);
    });
}

TEST(row_kernels, errors_are_sums_of_squares_the_same_for_all_registers) {
    Numbers numbers(9);
    const std::vector<float> r = numbers.row(1003);
    const std::vector<int8_t> codes = test::rounded(r, 0.1f, 127);
    std::vector<float> decoded;
    ErrorSums expected;
    for (size_t i = 0; i < r.size(); ++i) {
        decoded.push_back(float(codes[i]) * 0.1f);
        expected.add({std::pow(double(r[i] - decoded[i]), 2), double(r[i]) * double(r[i])});
    }
    const ErrorSums first = code_error(r.data(), codes.data(), 0.1f, 1003);
    EXPECT_NEAR(first.error / expected.error, 1, 1e-5);
    EXPECT_NEAR(first.size / expected.size, 1, 1e-5);
    for_each_isa([&] {
        const ErrorSums a = code_error(r.data(), codes.data(), 0.1f, 1003);
        const ErrorSums b = value_error(r.data(), decoded.data(), 1003);
        for (const ErrorSums & s : {a, b}) EXPECT_TRUE(s.error == first.error && s.size == first.size);
    });
    EXPECT_EQ(ErrorSums{}.relative(), 0);
    EXPECT_EQ((ErrorSums{4, 100}).relative(), 0.2);
}

TEST(row_kernels, w4a8_rows_follow_the_steps_of_the_format) {
    for_each_isa([] {
        for (const int64_t k : {16, 48, 256, 1040, 4096}) {
            Numbers numbers{uint64_t(k)};
            std::vector<float> x = numbers.row(k, 0.02f);
            if (k == 1040) std::fill(x.begin() + 32, x.begin() + 64, 0.0f);
            const int group = k % 256 == 0 ? 256 : 16;
            const std::vector<float> r = test::rotated(x, group);
            std::vector<std::byte> packed(size_t(k / 2));
            std::vector<uint8_t> relative(size_t(k / 16));
            std::vector<float> scratch(relative.size()), decoded(r.size());
            float channel = 0;
            const W4a8Row row = {r.data(),
                                 k,
                                 kGaussianLevels.data(),
                                 packed.data(),
                                 relative.data(),
                                 &channel,
                                 scratch.data(),
                                 decoded.data(),
                                 false};
            const ErrorSums sums = encode_w4a8(row);
            const test::ReferenceRow expected = test::w4a8_row(x, group, kGaussianLevels);
            EXPECT_NEAR(channel / expected.scale, 1, 1e-6);
            int other = 0;
            for (size_t i = 0; i < relative.size(); ++i)
                other += f8_e4m3_to_float(relative[i]) != expected.relative[i];
            EXPECT_EQ(other, 0);
            decode_w4a8(row, decoded.data());
            for (size_t i = 0; i < r.size(); ++i) {
                const int level = i % 2 == 0 ? int(packed[i / 2]) & 15 : int(packed[i / 2]) >> 4;
                other += level != expected.codes[i];
                ASSERT_EQ(decoded[i], kGaussianLevels[size_t(level)] * expected.relative[i / 16] * channel);
            }
            // Scales of the reference are sums in another order, so a level at a tie may differ.
            EXPECT_LE(other, k / 1000) << k;
            const ErrorSums again = value_error(r.data(), decoded.data(), k);
            EXPECT_TRUE(sums.error == again.error && sums.size == again.size);
            EXPECT_LT(sums.relative(), 0.1);
        }
    });
}

// A row in W4A8: all that encoding it makes.
struct W4a8Result {
    std::vector<std::byte> packed;
    std::vector<uint8_t> relative;
    float channel = 0;
    double error = 0, size = 0;
    bool operator==(const W4a8Result &) const = default;
};

W4a8Result encoded(const std::vector<float> & r, const Codebook & book) {
    W4a8Result out;
    out.packed.resize(r.size() / 2);
    out.relative.resize(r.size() / 16);
    std::vector<float> scratch(out.relative.size()), decoded(r.size());
    const ErrorSums sums =
        encode_w4a8({r.data(), int64_t(r.size()), book.data(), out.packed.data(), out.relative.data(),
                     &out.channel, scratch.data(), decoded.data(), false});
    out.error = sums.error;
    out.size = sums.size;
    return out;
}

TEST(row_kernels, w4a8_is_the_same_for_every_instruction_set) {
    // Levels that are no mirror image, and some that are one and the same.
    const Codebook odd = {-1.5f, -1.0f, -0.75f, -0.7f, -0.5f, -0.25f, -0.125f, 0.0f,
                          0.0f,  0.01f, 0.02f,  0.3f,  0.6f,  0.61f,  0.9f,    2.0f};
    for (const Codebook & book : {kGaussianLevels, odd}) {
        for (const float scale : {0.02f, 1e-30f, 1e-9f, 1e36f, 0x1p-3f}) {
            for (const int64_t k : {16, 64, 80, 1008, 6144}) {
                Numbers numbers{uint64_t(k)};
                std::vector<float> r = numbers.row(k, scale);
                // Powers of two lie on middles and ties.
                if (scale == 0x1p-3f) {
                    for (float & v : r)
                        v = std::copysign(std::exp2(std::round(std::log2(std::fabs(v) + 1e-3f))), v);
                }
                std::fill(r.begin() + k / 16 * 8, r.begin() + k / 16 * 8 + 8, 0.0f);
                std::optional<W4a8Result> first;
                for_each_isa([&] {
                    const W4a8Result now = encoded(r, book);
                    if (!first) first = now;
                    EXPECT_TRUE(now == *first) << k << " " << scale;
                });
            }
        }
    }
}

} // namespace
} // namespace sd
