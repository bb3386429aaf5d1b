// AVX-512 with VNNI: tiles of 6 rows by 64 columns, 24 accumulators, which hide the four cycles an addition
// takes; 64 bytes of weights are loaded for six instructions and an activation serves four, so that the
// loads of a step, ten, stay far below its 24 multiplications.
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's AVX-512 intrinsics pass undefined registers on purpose and are then warned about at every use.
#    pragma GCC diagnostic ignored "-Wuninitialized"
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "kernels/cpu/int8_gemm.h"
#include "ops/common/target.h"

#include <cstring>

#if defined(__x86_64__)

SD_TARGET_AVX512VNNI
namespace sd {
namespace {

#    include "kernels/cpu/avx512_lanes_inl.h"
#    include "kernels/cpu/int8_gemm_pack_inl.h"

constexpr int kRows = 6, kVectors = 4, kColumns = 16 * kVectors;

inline __attribute__((always_inline)) __m512i broadcast4(const int8_t * q) {
    int32_t four;
    std::memcpy(&four, q, sizeof four);
    return _mm512_set1_epi32(four);
}

template <int Rows>
void tile_rows(int32_t * sums, const uint8_t * panel, const int8_t * acts, const int32_t * start,
               int64_t steps) {
    __m512i acc[Rows][kVectors];
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#    pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm512_set1_epi32(start[r]);
    }
    for (int64_t s = 0; s < steps; ++s, panel += 4 * kColumns, acts += 4 * Rows) {
        __m512i w[kVectors];
#    pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) w[v] = _mm512_load_si512(panel + 64 * v);
#    pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const __m512i a = broadcast4(acts + 4 * r);
#    pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm512_dpbusd_epi32(acc[r][v], w[v], a);
        }
    }
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#    pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) _mm512_store_si512(sums + kColumns * r + 16 * v, acc[r][v]);
    }
}

void tile(int32_t * sums, const uint8_t * panel, const void * packed, const int32_t * start, int m,
          int64_t steps) {
    const int8_t * acts = static_cast<const int8_t *>(packed);
    switch (m) {
    case 1: return tile_rows<1>(sums, panel, acts, start, steps);
    case 2: return tile_rows<2>(sums, panel, acts, start, steps);
    case 3: return tile_rows<3>(sums, panel, acts, start, steps);
    case 4: return tile_rows<4>(sums, panel, acts, start, steps);
    case 5: return tile_rows<5>(sums, panel, acts, start, steps);
    default: return tile_rows<6>(sums, panel, acts, start, steps);
    }
}

// Sixteen weight rows at a time, 64 bytes of each: a full line is read and full lines are written.
void pack_panel(uint8_t * panel, const int8_t * w, int64_t stride, int n, int64_t k) {
    const __m512i flip = _mm512_set1_epi8(char(0x80));
    for (int c0 = 0; c0 < n; c0 += 16) {
        for (int64_t i = 0; i < k; i += 64) {
            const int64_t left = k - i;
            const __mmask64 bytes = left >= 64 ? ~__mmask64(0) : (__mmask64(1) << left) - 1;
            __m512i v[16];
            const int8_t * row = w + c0 * stride + i;
            if (n - c0 >= 16 && left >= 64) {
#    pragma GCC unroll 16
                for (int c = 0; c < 16; ++c)
                    v[c] = _mm512_xor_si512(_mm512_loadu_si512(row + c * stride), flip);
            } else {
#    pragma GCC unroll 16
                for (int c = 0; c < 16; ++c)
                    v[c] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(c0 + c < n ? bytes : 0, row + c * stride),
                                            flip);
            }
            transpose(v);
            uint8_t * out = panel + i * kColumns + 4 * c0;
            const int groups = left >= 64 ? 16 : int(left + 3) / 4;
            if (groups == 16) {
#    pragma GCC unroll 16
                for (int j = 0; j < 16; ++j) _mm512_store_si512(out + 4 * kColumns * j, v[j]);
            } else {
                for (int j = 0; j < groups; ++j) _mm512_store_si512(out + 4 * kColumns * j, v[j]);
            }
        }
    }
}

// Four weight rows side by side times Rows prepared rows. The processor's prefetchers do not keep up with
// rows that start over every few kilobytes: the next four rows are asked for by name, into the second level.
template <int Rows>
void dots4(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, const int8_t * rows,
           size_t row_bytes, const int32_t * start, int64_t k) {
    const __m512i flip = _mm512_set1_epi8(char(0x80));
    __m512i acc[Rows][4];
#    pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = acc[r][2] = acc[r][3] = _mm512_setzero_si512();
    const auto add = [&](int64_t i, __mmask64 bytes) __attribute__((always_inline)) {
        __m512i x[Rows];
#    pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) x[r] = _mm512_load_si512(rows + size_t(r) * row_bytes + i);
#    pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) {
            const auto next = reinterpret_cast<uintptr_t>(w) + uintptr_t((c + 4) * stride + i);
            _mm_prefetch(reinterpret_cast<const char *>(next), _MM_HINT_T1);
            const __m512i v = _mm512_xor_si512(_mm512_maskz_loadu_epi8(bytes, w + c * stride + i), flip);
#    pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) acc[r][c] = _mm512_dpbusd_epi32(acc[r][c], v, x[r]);
        }
    };
    int64_t i = 0;
    for (; i + 64 <= k; i += 64) add(i, ~__mmask64(0));
    if (i < k) add(i, (__mmask64(1) << (k - i)) - 1); // what the rows are padded with is zero
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

const Int8Gemm & int8_gemm_avx512vnni() {
    static constexpr Int8Gemm gemm = {kRows,
                                      kColumns,
                                      4,
                                      1,
                                      0x80,
                                      64,
                                      pack_panel,
                                      pack_rows_plain<int8_t, 4, 0x80>,
                                      tile,
                                      scale_row_plain,
                                      prepare_row_plain<int8_t, 64, 0x80>,
                                      dots};
    return gemm;
}

} // namespace sd

#endif
