// AVX-512 with VNNI. Tiles are those of INT8 products. The bytes of sixteen weight rows are brought into a
// panel's order while they still hold two weights each, which halves that work.
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's AVX-512 intrinsics pass undefined registers on purpose and are then warned about at every use.
#    pragma GCC diagnostic ignored "-Wuninitialized"
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "kernels/cpu/int4_gemm.h"
#include "ops/common/target.h"

#include <cstring>

#if defined(__x86_64__)

SD_TARGET_AVX512VNNI
namespace sd {
namespace {

#    include "kernels/cpu/avx512_lanes_inl.h"
#    include "kernels/cpu/int4_gemm_x86_inl.h"

constexpr int kColumns = 64, kBytes = 64; // of a weight row that one vector takes

// (v & 15) ^ 8 of each byte: a nibble's weight plus 8.
inline __attribute__((always_inline)) __m512i low_nibbles(__m512i v) {
    constexpr int kAndXor = (0xf0 & 0xcc) ^ 0xaa; // the truth table of (a & b) ^ c
    return _mm512_ternarylogic_epi32(v, _mm512_set1_epi8(0x0f), _mm512_set1_epi8(0x08), kAndXor);
}
inline __attribute__((always_inline)) __m512i high_nibbles(__m512i v) {
    return low_nibbles(_mm512_srli_epi16(v, 4));
}

inline __attribute__((always_inline)) __mmask64 first_bytes(int64_t n) {
    return n >= 64 ? ~__mmask64(0) : (__mmask64(1) << n) - 1;
}

void pack_panel(uint8_t * panel, const int8_t * w, int64_t stride, int n, int64_t k) {
    for (int c0 = 0; c0 < n; c0 += 16) {
        for (int64_t i = 0; i < k / 2; i += kBytes) {
            const int64_t left = k / 2 - i;
            __m512i v[16];
            const int8_t * row = w + c0 * stride + i;
            if (n - c0 >= 16 && left >= kBytes) {
#    pragma GCC unroll 16
                for (int c = 0; c < 16; ++c) v[c] = _mm512_loadu_si512(row + c * stride);
            } else {
                const __mmask64 bytes = first_bytes(left);
#    pragma GCC unroll 16
                for (int c = 0; c < 16; ++c)
                    v[c] = _mm512_maskz_loadu_epi8(c0 + c < n ? bytes : 0, row + c * stride);
            }
            transpose(v);
            uint8_t * out = panel + 2 * i * kColumns + 4 * c0;
            const int groups = left >= kBytes ? 16 : int(left + 3) / 4;
            const auto store = [&](int j) __attribute__((always_inline)) {
                _mm512_store_si512(out + 8 * kColumns * j, low_nibbles(v[j]));
                _mm512_store_si512(out + 8 * kColumns * j + 4 * kColumns, high_nibbles(v[j]));
            };
            if (groups == 16) {
#    pragma GCC unroll 16
                for (int j = 0; j < 16; ++j) store(j);
            } else {
                for (int j = 0; j < groups; ++j) store(j);
            }
        }
    }
}

void tile(int32_t * sums, const uint8_t * panel, const void * packed, const int32_t * start, int m,
          int64_t steps) {
    int8_gemm_avx512vnni().tile(sums, panel, packed, start, m, 2 * steps);
}

// Four weight rows side by side times Rows prepared rows; the next four are asked for as in INT8 products.
template <int Rows>
void dots4(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, const int8_t * rows,
           size_t row_bytes, const int32_t * start, int64_t k) {
    __m512i acc[Rows][4];
#    pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = acc[r][2] = acc[r][3] = _mm512_setzero_si512();
    const auto add = [&](int64_t i, __mmask64 bytes) __attribute__((always_inline)) {
        __m512i even[Rows], odd[Rows];
#    pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
            even[r] = _mm512_load_si512(rows + size_t(r) * row_bytes + 2 * i);
            odd[r] = _mm512_load_si512(rows + size_t(r) * row_bytes + 2 * i + kBytes);
        }
#    pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) {
            const auto next = reinterpret_cast<uintptr_t>(w) + uintptr_t((c + 4) * stride + i);
            _mm_prefetch(reinterpret_cast<const char *>(next), _MM_HINT_T1);
            const __m512i v = _mm512_maskz_loadu_epi8(bytes, w + c * stride + i);
            const __m512i low = low_nibbles(v), high = high_nibbles(v);
#    pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                acc[r][c] = _mm512_dpbusd_epi32(acc[r][c], low, even[r]);
                acc[r][c] = _mm512_dpbusd_epi32(acc[r][c], high, odd[r]);
            }
        }
    };
    int64_t i = 0;
    for (; i + kBytes <= k / 2; i += kBytes) add(i, ~__mmask64(0));
    if (i < k / 2) add(i, first_bytes(k / 2 - i)); // what the rows are padded with is zero
#    pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
        const __m128i sum = sums_of(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(sums + r * sums_stride),
                         _mm_add_epi32(sum, _mm_set1_epi32(start[r])));
    }
}

template <int Rows>
void dots_rows(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n,
               const int8_t * rows, size_t row_bytes, const int32_t * start, int64_t k) {
    int c = 0;
    for (; c + 4 <= n; c += 4)
        dots4<Rows>(sums + c, sums_stride, w + c * stride, stride, rows, row_bytes, start, k);
    for (; c < n; ++c) { // the last ones: the same row four times
        int32_t four[Rows][4];
        dots4<Rows>(four[0], 4, w + c * stride, 0, rows, row_bytes, start, k);
        for (int r = 0; r < Rows; ++r) sums[r * sums_stride + c] = four[r][0];
    }
}

void dots(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n, const void * rows,
          size_t row_bytes, const int32_t * start, int m, int64_t k) {
    const int8_t * acts = static_cast<const int8_t *>(rows);
    switch (m) {
    case 1: return dots_rows<1>(sums, sums_stride, w, stride, n, acts, row_bytes, start, k);
    case 2: return dots_rows<2>(sums, sums_stride, w, stride, n, acts, row_bytes, start, k);
    case 3: return dots_rows<3>(sums, sums_stride, w, stride, n, acts, row_bytes, start, k);
    default: return dots_rows<4>(sums, sums_stride, w, stride, n, acts, row_bytes, start, k);
    }
}

} // namespace
} // namespace sd
SD_TARGET_END

namespace sd {

const Int8Gemm & int4_gemm_avx512vnni() {
    static const Int8Gemm gemm = [] {
        Int8Gemm g = int8_gemm_avx512vnni();
        g.step = kNibbleStep;
        g.flip = 8;
        g.row_pad = 2 * kBytes;
        g.pack_panel = pack_panel;
        g.pack_rows = pack_split_rows;
        g.tile = tile;
        g.prepare_row = prepare_split_row<kBytes>;
        g.dots = dots;
        return g;
    }();
    return gemm;
}

} // namespace sd

#endif
