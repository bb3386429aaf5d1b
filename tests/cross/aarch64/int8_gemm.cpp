// Tiles and dot products of INT8 codes on NEON, against sums in 64 bits.
#include "engine/kernels/cpu/int8_gemm.h"
#include "tests/cross/aarch64/check.h"

#include <algorithm>
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

struct Codes {
    int64_t k;
    std::vector<int8_t> x, w;

    Codes(int64_t m, int64_t n, int64_t length, bool extreme)
        : k(length), x(size_t(m * length), -128), w(size_t(n * length), -128) {
        if (extreme) return;
        Random random{uint32_t(length)};
        for (int8_t & v : x) v = int8_t(random.bits() >> 24);
        for (int8_t & v : w) v = int8_t(random.bits() >> 24);
    }
    int32_t sum(int64_t row, int64_t column) const {
        int64_t sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += int64_t(x[size_t(row * k + i)]) * w[size_t(column * k + i)];
        return int32_t(sum);
    }
};

void check_tile(const sd::Int8Gemm & gemm, int m, int64_t k, bool extreme) {
    const int n = gemm.columns;
    const Codes codes(m, n, k, extreme);
    const int64_t padded = sd::int8_padded(k, gemm.step);
    const Bytes panel = aligned(sd::int8_panel_bytes(gemm, k)),
                packed = aligned(size_t(m * padded * gemm.act_bytes)),
                sums = aligned(size_t(gemm.rows * n) * sizeof(int32_t));
    int32_t start[sd::kInt8MaxTileRows];
    gemm.pack_panel(static_cast<uint8_t *>(panel.get()), codes.w.data(), k, n, k);
    gemm.pack_rows(packed.get(), start, codes.x.data(), k, m, k);
    auto * got = static_cast<int32_t *>(sums.get());
    gemm.tile(got, static_cast<const uint8_t *>(panel.get()), packed.get(), start, m, padded / gemm.step);
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c < n; ++c)
            require(got[r * n + c] == codes.sum(r, c),
                    "tile of %d rows, K %d: row %d, column %d is %d, not %d", m, int(k), r, c, got[r * n + c],
                    codes.sum(r, c));
    }
}

void check_dots(const sd::Int8Gemm & gemm, int m, int n, int64_t k, bool extreme) {
    const Codes codes(m, n, k, extreme);
    const size_t row_bytes = (size_t(sd::int8_padded(k, gemm.row_pad) * gemm.act_bytes) + 63) / 64 * 64;
    const Bytes rows = aligned(size_t(m) * row_bytes);
    int32_t start[sd::kInt8DotRows], got[sd::kInt8DotRows * 16];
    for (int r = 0; r < m; ++r)
        gemm.prepare_row(static_cast<char *>(rows.get()) + size_t(r) * row_bytes, start + r,
                         &codes.x[size_t(r * k)], k);
    gemm.dots(got, 16, codes.w.data(), k, n, rows.get(), row_bytes, start, m, k);
    for (int r = 0; r < m; ++r) {
        for (int c = 0; c < n; ++c)
            require(got[r * 16 + c] == codes.sum(r, c),
                    "dots of %d rows, K %d: row %d, column %d is %d, not %d", m, int(k), r, c,
                    got[r * 16 + c], codes.sum(r, c));
    }
}

void check_pieces(const char * name, const sd::Int8Gemm & gemm) {
    for (const int64_t k : {1, 3, 4, 15, 16, 17, 64, 260, 1001}) {
        for (const bool extreme : {false, true}) {
            for (int m = 1; m <= gemm.rows; ++m) check_tile(gemm, m, k, extreme);
            for (int m = 1; m <= sd::kInt8DotRows; ++m) {
                for (const int n : {1, 2, 3, 4, 7, 16}) check_dots(gemm, m, n, k, extreme);
            }
        }
    }
    passed("int8 products, %s", name);
}

} // namespace

void check_int8_gemm() {
    check_pieces("plain", sd::int8_gemm_scalar());
    if (cpu::cpu_features().dotprod) check_pieces("dotprod", sd::int8_gemm_neon_dotprod());
}

} // namespace ggml::cross
