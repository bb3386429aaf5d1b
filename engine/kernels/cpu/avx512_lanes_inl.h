// Included by the AVX-512 kernels inside their anonymous namespace and target: moves of groups of four bytes
// between lanes and registers.

// Transposes 16 x 16 groups of four bytes: v[j] becomes group j of each row.
inline __attribute__((always_inline)) void transpose(__m512i (&v)[16]) {
    __m512i t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) { // v[i + q]: rows i .. i + 3 of group q of each 128 bits
        v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 16
    for (int q = 0; q < 4; ++q) {
        const __m512i lo01 = _mm512_shuffle_i32x4(v[q], v[q + 4], 0x44);
        const __m512i hi01 = _mm512_shuffle_i32x4(v[q], v[q + 4], 0xee);
        const __m512i lo23 = _mm512_shuffle_i32x4(v[q + 8], v[q + 12], 0x44);
        const __m512i hi23 = _mm512_shuffle_i32x4(v[q + 8], v[q + 12], 0xee);
        t[q] = _mm512_shuffle_i32x4(lo01, lo23, 0x88);
        t[q + 4] = _mm512_shuffle_i32x4(lo01, lo23, 0xdd);
        t[q + 8] = _mm512_shuffle_i32x4(hi01, hi23, 0x88);
        t[q + 12] = _mm512_shuffle_i32x4(hi01, hi23, 0xdd);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) v[i] = t[i];
}

// Four sums of sixteen lanes each.
inline __attribute__((always_inline)) __m128i sums_of(__m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    const __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}
