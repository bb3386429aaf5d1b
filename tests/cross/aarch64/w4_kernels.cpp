// Products with packed 4-bit weights on NEON: sums of signed ones against sums in 64 bits, those of a
// codebook against double precision.
#include "engine/kernels/cpu/book_gemm.h"
#include "engine/kernels/cpu/e4m3.h"
#include "engine/kernels/cpu/int4_gemm.h"
#include "tests/cross/aarch64/check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

namespace ggml::cross {
namespace {

struct Free {
    void operator()(void * p) const { std::free(p); }
};
using Bytes = std::unique_ptr<void, Free>;

// 64-byte aligned, filled with bytes that are no zeros.
Bytes aligned(size_t n) {
    n = (n + 63) / 64 * 64;
    Bytes bytes(std::aligned_alloc(64, n));
    std::fill_n(static_cast<char *>(bytes.get()), n, char(0xa5));
    return bytes;
}

template <class T>
T * as(const Bytes & bytes) {
    return static_cast<T *>(bytes.get());
}

struct Layer {
    int64_t k;
    std::vector<int8_t> x, w, relative;
    std::vector<float> codebook;

    Layer(int64_t m, int64_t n, int64_t length, bool extreme)
        : k(length), x(size_t(m * length), -128), w(size_t(n * length / 2), int8_t(0x88)),
          relative(size_t(n * (length / 16)), 0x38) {
        Random random{uint32_t(length)};
        codebook = random.floats(16);
        if (extreme) return;
        for (int8_t & v : x) v = int8_t(random.bits() >> 24);
        for (int8_t & v : w) v = int8_t(random.bits() >> 24);
        for (int8_t & v : relative) v = int8_t(0x20 + random.bits() % 64);
    }

    int nibble(int64_t column, int64_t i) const {
        return uint8_t(w[size_t(column * (k / 2) + i / 2)]) >> (i % 2 * 4) & 15;
    }
    int32_t signed_sum(int64_t row, int64_t column) const {
        int64_t sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += x[size_t(row * k + i)] * ((nibble(column, i) ^ 8) - 8);
        return int32_t(sum);
    }
    void require_book_sum(float got, int64_t row, int64_t column) const {
        double sum = 0, magnitude = 0;
        for (int64_t i = 0; i < k; ++i) {
            const double scale =
                double(sd::e4m3_value(uint8_t(relative[size_t(column * (k / 16) + i / 16)])));
            const double product =
                x[size_t(row * k + i)] * double(codebook[size_t(nibble(column, i))]) * scale;
            sum += product;
            magnitude += std::fabs(product);
        }
        require(std::fabs(double(got) - sum) <= double(k / 16 + 32) * 0x1p-24 * magnitude,
                "codebook, K %d: row %d, column %d is %g, not %g", int(k), int(row), int(column), double(got),
                sum);
    }
};

void check_signed_tile(const sd::Int8Gemm & gemm, int m, int64_t k, bool extreme) {
    const int n = gemm.columns;
    const Layer layer(m, n, k, extreme);
    const int64_t padded = sd::int8_padded(k, gemm.step);
    const Bytes panel = aligned(sd::int8_panel_bytes(gemm, k)),
                packed = aligned(size_t(m * padded * gemm.act_bytes)),
                sums = aligned(size_t(gemm.rows * n) * sizeof(int32_t));
    int32_t start[sd::kInt8MaxTileRows];
    gemm.pack_panel(as<uint8_t>(panel), layer.w.data(), k / 2, n, k);
    gemm.pack_rows(packed.get(), start, layer.x.data(), k, m, k);
    gemm.tile(as<int32_t>(sums), as<uint8_t>(panel), packed.get(), start, m, padded / gemm.step);
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c < n; ++c)
            require(as<int32_t>(sums)[r * n + c] == layer.signed_sum(r, c),
                    "signed tile of %d rows, K %d: row %d, column %d", m, int(k), r, c);
    }
}

void check_signed_dots(const sd::Int8Gemm & gemm, int m, int n, int64_t k, bool extreme) {
    const Layer layer(m, n, k, extreme);
    const size_t row_bytes = (size_t(sd::int8_padded(k, gemm.row_pad) * gemm.act_bytes) + 63) / 64 * 64;
    const Bytes rows = aligned(size_t(m) * row_bytes);
    int32_t start[sd::kInt8DotRows], got[sd::kInt8DotRows * 16];
    for (int r = 0; r < m; ++r)
        gemm.prepare_row(as<char>(rows) + size_t(r) * row_bytes, start + r, &layer.x[size_t(r * k)], k);
    gemm.dots(got, 16, layer.w.data(), k / 2, n, rows.get(), row_bytes, start, m, k);
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c < n; ++c)
            require(got[r * 16 + c] == layer.signed_sum(r, c),
                    "signed dots of %d rows, K %d: row %d, column %d", m, int(k), r, c);
    }
}

void check_signed(const char * name, const sd::Int8Gemm & gemm) {
    for (const int64_t k : {2, 4, 6, 16, 30, 32, 34, 64, 260, 1002}) {
        for (const bool extreme : {false, true}) {
            for (int m = 1; m <= gemm.rows; ++m) check_signed_tile(gemm, m, k, extreme);
            for (int m = 1; m <= sd::kInt8DotRows; ++m) {
                for (const int n : {1, 2, 3, 4, 7, 16}) check_signed_dots(gemm, m, n, k, extreme);
            }
        }
    }
    check_signed_dots(gemm, 2, 3, sd::kInt8MaxK - 1, true);
    passed("products of signed 4-bit weights, %s", name);
}

void check_book_rows(const sd::BookGemm & gemm, int m, int n, int64_t k) {
    const Layer layer(m, n, k, false);
    const sd::BookWeights weights = {reinterpret_cast<const uint8_t *>(layer.w.data()),
                                     reinterpret_cast<const uint8_t *>(layer.relative.data()),
                                     layer.codebook.data(), k};
    const Bytes panel = aligned(size_t(k * gemm.columns) * sizeof(float)),
                sums = aligned(size_t(gemm.rows * gemm.columns) * sizeof(float));
    std::vector<float> side_by_side(size_t(m * k));
    for (int64_t i = 0; i < k; ++i) {
        for (int r = 0; r < m; ++r) {
            side_by_side[size_t(i * m + r)] = layer.x[size_t(r * k + i)];
        }
    }
    gemm.pack_panel(as<float>(panel), weights, 0, std::min(n, gemm.columns), 0, k);
    gemm.tile(as<float>(sums), as<float>(panel), side_by_side.data(), m, k);
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c < std::min(n, gemm.columns); ++c)
            layer.require_book_sum(as<float>(sums)[r * gemm.columns + c], r, c);
    }
    if (m > sd::kBookDotRows) return;
    const int64_t padded = (k + gemm.row_pad - 1) / gemm.row_pad * gemm.row_pad;
    std::vector<float> rows(size_t(m * padded)), dots(size_t(m * n));
    for (int r = 0; r < m; ++r) gemm.prepare_row(&rows[size_t(r * padded)], &layer.x[size_t(r * k)], k);
    gemm.dots(dots.data(), n, weights, 0, n, rows.data(), padded, m);
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c < n; ++c) layer.require_book_sum(dots[size_t(r * n + c)], r, c);
    }
}

void check_book(const char * name, const sd::BookGemm & gemm) {
    for (const int64_t k : {16, 48, 64, 144, 512}) {
        for (int m = 1; m <= gemm.rows; ++m) {
            for (const int n : {1, 2, 3, 5, 16, 20}) check_book_rows(gemm, m, n, k);
        }
    }
    passed("products with a codebook, %s", name);
}

} // namespace

void check_w4_kernels() {
    check_signed("plain", sd::int4_gemm_scalar());
    if (cpu::cpu_features().dotprod) check_signed("dotprod", sd::int4_gemm_neon_dotprod());
    check_book("plain", sd::book_gemm_scalar());
    check_book("NEON", sd::book_gemm_simd());
}

} // namespace ggml::cross
