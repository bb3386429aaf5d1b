// The pieces of products with a codebook, against sums in double precision.
#include "kernels/cpu/book_gemm.h"

#include "kernels/cpu/e4m3.h"
#include "kernels/cpu/test_memory.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace sd::test {
namespace {

TEST(e4m3, bytes_have_the_values_of_their_definition) {
    for (int byte = 0; byte < 256; ++byte) {
        const int exponent = byte >> 3 & 15, mantissa = byte & 7;
        const double magnitude =
            exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
        const float value = kE4m3Values[size_t(byte)];
        if ((byte & 0x7f) == 0x7f)
            EXPECT_TRUE(std::isnan(value)) << byte;
        else
            EXPECT_EQ(value, byte < 128 ? magnitude : -magnitude) << byte;
    }
    EXPECT_EQ(kE4m3Values[0x7e], 448.0f);
    EXPECT_TRUE(std::signbit(kE4m3Values[0x80]));
}

// Calls fn(gemm) for the plain code and for each instruction set of the other.
void for_each_gemm(const std::function<void(const BookGemm &)> & fn) {
    fn(book_gemm_scalar());
    ggml::test::for_each_isa([&](ggml::cpu::Isa) { fn(book_gemm_simd()); });
}

struct Operands {
    int m, n;
    int64_t k;
    std::vector<int8_t> codes;
    AtTheEnd indices, relative;
    std::vector<float> codebook;

    Operands(int m_, int n_, int64_t k_)
        : m(m_), n(n_), k(k_), codes(size_t(m_ * k_)), indices(size_t(n_ * k_ / 2)),
          relative(size_t(n_ * k_ / 16)), codebook(16) {
        std::mt19937 random(uint32_t(m * 1000 + n * 10 + int(k)));
        for (int8_t & v : codes) v = int8_t(random() >> 24);
        for (int64_t i = 0; i < n * k / 2; ++i) indices.data()[i] = int8_t(random() >> 24);
        for (int64_t i = 0; i < n * k / 16; ++i) { // no NaN
            const uint8_t byte = uint8_t(random() >> 24);
            relative.data()[i] = int8_t((byte & 0x7f) == 0x7f ? 0x7e : byte);
        }
        std::uniform_real_distribution<float> levels(-1.0f, 1.0f);
        for (float & v : codebook) v = levels(random);
    }

    BookWeights weights() const {
        return {reinterpret_cast<const uint8_t *>(indices.data()),
                reinterpret_cast<const uint8_t *>(relative.data()), codebook.data(), k};
    }
    double weight(int c, int64_t i) const {
        const uint8_t byte = uint8_t(indices.data()[c * (k / 2) + i / 2]);
        return double(codebook[i % 2 == 0 ? byte & 15 : byte >> 4]) *
               double(e4m3_value(uint8_t(relative.data()[c * (k / 16) + i / 16])));
    }

    // The sum of the products of columns [k0, k0 + count).
    void expect_sum(float got, int r, int c, int64_t k0, int64_t count) const {
        double sum = 0, magnitude = 0;
        for (int64_t i = k0; i < k0 + count; ++i) {
            const double product = weight(c, i) * codes[size_t(r * k + i)];
            sum += product;
            magnitude += std::fabs(product);
        }
        // What implementations of the format are allowed.
        const double room = double(count / 16 + 32) * 0x1p-24 * magnitude;
        ASSERT_LE(std::fabs(double(got) - sum), room) << "K " << count << ", row " << r << ", column " << c;
    }
};

void check_tile(const BookGemm & gemm, const Operands & o, int64_t k0, int64_t k) {
    const Aligned<float> panel(size_t(k * gemm.columns)), sums(size_t(gemm.rows * gemm.columns));
    std::vector<float> acts(size_t(k * o.m));
    for (int64_t i = 0; i < k; ++i) {
        for (int r = 0; r < o.m; ++r) acts[size_t(i * o.m + r)] = o.codes[size_t(r * o.k + k0 + i)];
    }
    gemm.pack_panel(panel.data, o.weights(), 0, o.n, k0, k);
    gemm.tile(sums.data, panel.data, acts.data(), o.m, k);
    for (int r = 0; r < o.m; ++r) {
        for (int c = 0; c < gemm.columns; ++c) {
            const float sum = sums.data[r * gemm.columns + c];
            if (c < o.n)
                o.expect_sum(sum, r, c, k0, k);
            else
                ASSERT_EQ(sum, 0.0f) << "columns beyond the last are zero";
        }
    }
}

void check_dots(const BookGemm & gemm, const Operands & o) {
    const int64_t padded = (o.k + gemm.row_pad - 1) / gemm.row_pad * gemm.row_pad;
    const Aligned<float> rows(size_t(o.m * padded));
    std::vector<float> sums(size_t(o.m * o.n));
    for (int r = 0; r < o.m; ++r) gemm.prepare_row(rows.data + r * padded, o.codes.data() + r * o.k, o.k);
    gemm.dots(sums.data(), o.n, o.weights(), 0, o.n, rows.data, padded, o.m);
    for (int r = 0; r < o.m; ++r) {
        for (int c = 0; c < o.n; ++c) o.expect_sum(sums[size_t(r * o.n + c)], r, c, 0, o.k);
    }
}

TEST(book_gemm, tiles_have_every_number_of_rows_and_columns) {
    for_each_gemm([](const BookGemm & gemm) {
        for (const int64_t k : {16, 32, 48, 112, 128, 144, 272}) {
            for (int m = 1; m <= gemm.rows; ++m) {
                for (int n = 1; n <= gemm.columns; n += n < 18 ? 1 : 15) check_tile(gemm, {m, n, k}, 0, k);
            }
            check_tile(gemm, {gemm.rows, gemm.columns, k}, 0, k);
        }
    });
}

TEST(book_gemm, panels_are_made_from_any_piece_of_k) {
    for_each_gemm([](const BookGemm & gemm) {
        for (const int64_t k0 : {16, 128, 160}) check_tile(gemm, {gemm.rows, 5, 512}, k0, 512 - k0 - 32);
    });
}

TEST(book_gemm, dot_products_read_nothing_behind_the_weights) {
    for_each_gemm([](const BookGemm & gemm) {
        for (const int64_t k : {16, 32, 48, 64, 80, 128, 144, 1040}) {
            for (int m = 1; m <= kBookDotRows; ++m) {
                for (const int n : {1, 2, 3, 4, 5, 7, 8, 16}) check_dots(gemm, {m, n, k});
            }
        }
    });
}

TEST(book_gemm, rows_are_scaled_in_order_with_every_rounding) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> values(-2.0f, 2.0f);
    for_each_gemm([&](const BookGemm & gemm) {
        for (const int n : {1, 3, 16, 37, 64}) {
            std::vector<float> y(static_cast<size_t>(n)), w(y.size()), b(y.size());
            for (const bool biased : {false, true}) {
                for (size_t i = 0; i < y.size(); ++i) {
                    y[i] = values(random);
                    w[i] = values(random);
                    b[i] = values(random);
                }
                std::vector<float> got = y;
                gemm.add_row(got.data(), b.data(), n);
                for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(got[i], y[i] + b[i]);
                got = y;
                gemm.scale_row(got.data(), n, 0.37f, w.data(), biased ? b.data() : nullptr);
                for (size_t i = 0; i < y.size(); ++i) {
                    volatile float expected = y[i] * 0.37f;
                    expected = expected * w[i];
                    if (biased) expected = expected + b[i];
                    EXPECT_EQ(got[i], expected);
                }
            }
        }
    });
}

} // namespace
} // namespace sd::test
