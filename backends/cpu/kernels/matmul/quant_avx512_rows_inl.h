// One-row products in 512-bit registers: 64 elements at a time. Included like quant_x86_inl.h, after it, in
// files whose target has AVX-512 with VNNI.

inline __m512i two_words(int low, int high) {
    return _mm512_inserti64x4(_mm512_set1_epi16(int16_t(low)), _mm256_set1_epi16(int16_t(high)), 1);
}
inline __m512i two_bytes(int low, int high) {
    return _mm512_inserti64x4(_mm512_set1_epi8(int8_t(low)), _mm256_set1_epi8(int8_t(high)), 1);
}
inline __m512i load512(const void * p) { return _mm512_loadu_si512(p); }
// 32 bytes in both halves.
inline __m512i load_twice(const void * p) { return _mm512_broadcast_i64x4(load256(p)); }
// Both halves shifted right by their own count, and masked.
inline __m512i shifted(__m512i x, int low, int high, int mask) {
    return _mm512_and_si512(_mm512_srlv_epi16(x, two_words(low, high)), _mm512_set1_epi8(int8_t(mask)));
}
// Adds `low` where bit 2p of a byte of the low half is set, `high` where bit 2p + 1 of one of the high half
// is.
inline __m512i add_bits(__m512i u, const uint8_t * bits, int p, int low, int high) {
    const __mmask64 set = _mm512_test_epi8_mask(load_twice(bits), two_bytes(1 << (2 * p), 2 << (2 * p)));
    return _mm512_mask_add_epi8(u, set, u, two_bytes(low, high));
}

// Elements 64p .. 64p + 63 of a super-block.
// High nibbles are masked where they lie rather than shifted down: VPDPBUSD takes all eight bits, and the
// factor of the group makes up for it (`units`). Shifts would compete with the permutations for the same
// execution ports.
inline __m512i load64(const BlockQ4_K & b, int p) {
    return _mm512_and_si512(load_twice(b.qs + 32 * p), two_bytes(0x0f, 0xf0));
}
inline __m512i load64(const BlockQ5_K & b, int p) {
    return add_bits(shifted(load_twice(b.qs + 32 * p), 0, 4, 15), b.qh, p, 16, 16);
}
inline __m512i load64(const BlockQ6_K & b, int p) {
    const __m512i x = load512(b.ql + 64 * (p / 2));
    const __m512i low = _mm512_and_si512(p % 2 == 0 ? x : _mm512_srli_epi16(x, 4), _mm512_set1_epi8(15));
    const __m512i y = load_twice(b.qh + 32 * (p / 2));
    const __m512i high =
        p % 2 == 0 ? _mm512_sllv_epi16(y, two_words(4, 2)) : _mm512_srlv_epi16(y, two_words(0, 2));
    return _mm512_or_si512(low, _mm512_and_si512(high, _mm512_set1_epi8(48)));
}

// What one unit of a group's field is worth after load64: lane g for group g.
inline __m512 units(const BlockQ4_K &) {
    return _mm512_castpd_ps(_mm512_set1_pd(std::bit_cast<double>(
        std::bit_cast<uint32_t>(1.0f) | uint64_t(std::bit_cast<uint32_t>(0x1p-4f)) << 32)));
}
template <class Block>
inline __m512 units(const Block &) {
    return _mm512_set1_ps(1.0f);
}

inline __m512 bytes_to_float16(__m128i x) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(x)); }
inline __m512i lane_index(int first, int lanes_each) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi32(_mm512_srli_epi32(lane, lanes_each == 8   ? 3
                                                    : lanes_each == 4 ? 2
                                                                      : 1),
                            _mm512_set1_epi32(first));
}

// Scales of a super-block in the lanes of one register, times d, times the activations' d; and into `rest`
// what is subtracted: the minima, or the offset times the scales, times the activations' sums.
template <ggml_type T>
inline __m512 super_factors(const typename QuantTraits<T>::Block & w, const ActRow & act, int64_t b,
                            __m512 & rest) {
    using Traits = QuantTraits<T>;
    const ScaleBytes bytes = scale_bytes(w);
    const __m512 scale = bytes_to_float16(bytes.scale);
    const __m512 d = _mm512_mul_ps(_mm512_set1_ps(half_value(w.d)), units(w));
    const __m512 act_d = _mm512_castps256_ps512(_mm256_loadu_ps(act.d + b));
    const __m512 part = Traits::kMinimum ? bytes_to_float16(bytes.minimum) : scale;
    const float factor = Traits::kMinimum ? block_minimum(w) : half_value(w.d) * float(Traits::kOffset);
    const __m512 subtracted = _mm512_mul_ps(part, _mm512_set1_ps(factor));
    if constexpr (Traits::kGroups == 1) {
        // Eight groups: the upper lanes are not used, and must not hold anything that is not a number.
        rest = _mm512_mask3_fnmadd_ps(subtracted, _mm512_maskz_loadu_ps(0xff, act.sum + b), rest, 0xff);
        return _mm512_mul_ps(_mm512_mul_ps(d, act_d), scale);
    } else {
        rest = _mm512_fnmadd_ps(subtracted, _mm512_loadu_ps(act.sum + 2 * b), rest);
        return _mm512_mul_ps(_mm512_mul_ps(d, _mm512_permutexvar_ps(lane_index(0, 2), act_d)), scale);
    }
}

template <ggml_type T>
float dot_k512(const void * row, const ActRow & act, int64_t blocks) {
    constexpr int kLanes = 8 / QuantTraits<T>::kGroups, kScales = 16 / kLanes;
    const auto * w = static_cast<const typename QuantTraits<T>::Block *>(row);
    __m512 acc[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()}, rest = _mm512_setzero_ps();
    for (int64_t b = 0; b < blocks; b += 8, ++w) {
        const __m512 factors = super_factors<T>(*w, act, b, rest);
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) {
            const __m512i q = load512(act.q + 32 * b + 64 * p);
            const __m512i sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), load64(*w, p), q);
            acc[p % 2] =
                _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                                _mm512_permutexvar_ps(lane_index(kScales * p, kLanes), factors), acc[p % 2]);
        }
    }
    const __m512 all = _mm512_add_ps(_mm512_add_ps(acc[0], acc[1]), rest);
    return add_lanes(_mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1)));
}

// Q2_K and Q3_K have the fewest bytes per element and so the least time for arithmetic. Sums of four products
// fit in 16 bits, so the scales are applied to them as integers, and only one conversion and one multiply-add
// with the activations' d remain for 128 elements. Fields stay at bits 0 or 2 of a nibble; ActRow::lane_d
// knows.
inline __m512i two_bit_fields(const uint8_t * qs, int p) {
    const __m512i x = load_twice(qs + 32 * (p / 2));
    return _mm512_and_si512(p % 2 == 0 ? x : _mm512_srli_epi16(x, 4), two_bytes(0x03, 0x0c));
}
inline __m512i fields64(const BlockQ2_K & b, int p) { return two_bit_fields(b.qs, p); }
inline __m512i fields64(const BlockQ3_K & b, int p) {
    return add_bits(two_bit_fields(b.qs, p), b.hmask, p, 4, 16);
}

// d, and what the minima (or the offset and the scales) are multiplied with, in every lane.
struct BlockFactors {
    __m512 d;
    __m256 subtracted;
};
inline BlockFactors block_factors(const BlockQ2_K & b) {
    int both; // d and dmin are neighbours: one conversion
    std::memcpy(&both, reinterpret_cast<const char *>(&b) + offsetof(BlockQ2_K, d), sizeof both);
    const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(both));
    return {_mm512_broadcastss_ps(d), _mm256_broadcastss_ps(_mm_movehdup_ps(d))};
}
inline BlockFactors block_factors(const BlockQ3_K & b) {
    const __m512 d = _mm512_set1_ps(half_value(b.d));
    return {d, _mm512_castps512_ps256(d)};
}

// Distance of prefetching: the loop is nearly as slow as memory, and without it the two times add up.
constexpr int kAhead = 2048;

template <ggml_type T>
float dot_narrow512(const void * row, const ActRow & act, int64_t blocks) {
    const auto * w = static_cast<const typename QuantTraits<T>::Block *>(row);
    // Scale bytes as the upper halves of words, 256 times their value (lane_d makes up for it): those of
    // groups L and 4 + L, four times each, in 128-bit lane L; `second` is for groups 8 + L and 12 + L.
    const __m512i lane = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i base = _mm512_broadcast_i32x4(
        _mm_setr_epi16(int16_t(0x0080), int16_t(0x0080), int16_t(0x0080), int16_t(0x0080), int16_t(0x0480),
                       int16_t(0x0480), int16_t(0x0480), int16_t(0x0480)));
    const __m512i first = _mm512_add_epi32(base, _mm512_mullo_epi32(lane, _mm512_set1_epi32(0x01000100)));
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(0x08000800));
    __m512 acc = _mm512_setzero_ps();
    __m256 rest = _mm256_setzero_ps();
    for (int64_t b = 0; b < blocks; b += 8, ++w) {
        _mm_prefetch(reinterpret_cast<const char *>(w) + kAhead, _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char *>(w) + kAhead + 64, _MM_HINT_T0);
        const ScaleBytes bytes = scale_bytes(*w);
        const __m512i scales = _mm512_broadcast_i32x4(bytes.scale);
        __m512 sums[2];
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
            const int8_t * q = act.q + 32 * b + 128 * h;
            const __m512i zero = _mm512_setzero_si512();
            const __m512i low = _mm512_dpbusd_epi32(zero, fields64(*w, 2 * h), load512(q));
            const __m512i high = _mm512_dpbusd_epi32(zero, fields64(*w, 2 * h + 1), load512(q + 64));
            const __m512i scaled = _mm512_madd_epi16(_mm512_packs_epi32(low, high),
                                                     _mm512_shuffle_epi8(scales, h == 0 ? first : second));
            sums[h] = _mm512_cvtepi32_ps(scaled);
        }
        const float * d = act.lane_d + 4 * b;
        const __m512 sum =
            _mm512_fmadd_ps(sums[1], _mm512_loadu_ps(d + 16), _mm512_mul_ps(sums[0], _mm512_loadu_ps(d)));
        const BlockFactors factors = block_factors(*w);
        acc = _mm512_fmadd_ps(sum, factors.d, acc);
        // The minima, or the scales for the offset: two groups make a block with one d.
        const __m256i part = _mm256_cvtepi8_epi16(QuantTraits<T>::kMinimum ? bytes.minimum : bytes.scale);
        const __m256i products = _mm256_madd_epi16(part, load256(act.half_sum + 2 * b));
        rest = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(products), _mm256_loadu_ps(act.d + b)),
                               factors.subtracted, rest);
    }
    const float offset = QuantTraits<T>::kMinimum ? 1.0f : float(QuantTraits<T>::kOffset);
    return add_lanes(_mm256_add_ps(_mm512_castps512_ps256(acc), _mm512_extractf32x8_ps(acc, 1))) -
           offset * add_lanes(rest);
}

// Two blocks of a type with 32 elements each. Types of four bits keep their high nibbles in place, like
// load64.
inline __m512i nibble_lanes(const uint8_t * first, const uint8_t * second) {
    const __m256i a = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(first)));
    const __m256i b = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(second)));
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}
template <class Block>
inline __m512i load_pair(const Block * w) {
    const __m512i x = nibble_lanes(w[0].qs, w[1].qs);
    if constexpr (requires { w->qh; }) {
        const __m512i shifts = _mm512_setr_epi64(0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0,
                                                 0x0004000400040004, 0x0004000400040004);
        const __m512i low = _mm512_and_si512(_mm512_srlv_epi16(x, shifts), _mm512_set1_epi8(15));
        uint32_t a, b;
        std::memcpy(&a, w[0].qh, sizeof a);
        std::memcpy(&b, w[1].qh, sizeof b);
        return _mm512_mask_add_epi8(low, a | (uint64_t(b) << 32), low, _mm512_set1_epi8(16));
    } else {
        const int64_t low = 0x0f0f0f0f0f0f0f0f;
        return _mm512_and_si512(
            x, _mm512_setr_epi64(low, low, low << 4, low << 4, low, low, low << 4, low << 4));
    }
}

template <ggml_type T>
float dot_simple512(const void * row, const ActRow & act, int64_t blocks) {
    using Traits = QuantTraits<T>;
    const auto * w = static_cast<const typename Traits::Block *>(row);
    __m512 acc[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    __m256 rest = _mm256_setzero_ps();
    int64_t b = 0;
    // Eight blocks share one conversion of their scales.
    for (; b + 8 <= blocks; b += 8, w += 8) {
        const __m256 d = _mm256_cvtph_ps(_mm_setr_epi16(int16_t(w[0].d), int16_t(w[1].d), int16_t(w[2].d),
                                                        int16_t(w[3].d), int16_t(w[4].d), int16_t(w[5].d),
                                                        int16_t(w[6].d), int16_t(w[7].d)));
        if constexpr (Traits::kMinimum) {
            const __m256 m = _mm256_cvtph_ps(_mm_setr_epi16(int16_t(w[0].m), int16_t(w[1].m), int16_t(w[2].m),
                                                            int16_t(w[3].m), int16_t(w[4].m), int16_t(w[5].m),
                                                            int16_t(w[6].m), int16_t(w[7].m)));
            rest = _mm256_fmadd_ps(m, _mm256_loadu_ps(act.sum + b), rest);
        } else {
            const __m256 offset = _mm256_mul_ps(d, _mm256_set1_ps(-float(Traits::kOffset)));
            rest = _mm256_fmadd_ps(offset, _mm256_loadu_ps(act.sum + b), rest);
        }
        // Lanes 0..7: factors of low nibbles (or of all elements), 8..15: of high nibbles.
        const __m256 low = _mm256_mul_ps(d, _mm256_loadu_ps(act.d + b));
        const float unit = requires { w->qh; }
        ? 1.0f : 0x1p-4f;
        const __m512 factors =
            _mm512_insertf32x8(_mm512_castps256_ps512(low), _mm256_mul_ps(low, _mm256_set1_ps(unit)), 1);
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) {
            const __m512i q = load512(act.q + 32 * b + 64 * p);
            const __m512i sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), load_pair(w + 2 * p), q);
            const __m512i high = _mm512_setr_epi32(0, 0, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0, 8, 8, 8, 8);
            const __m512i index = _mm512_add_epi32(lane_index(2 * p, 8), high);
            acc[p % 2] =
                _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_permutexvar_ps(index, factors), acc[p % 2]);
        }
    }
    const __m512 all = _mm512_add_ps(acc[0], acc[1]);
    __m256 last =
        _mm256_add_ps(_mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1)), rest);
    float tail = 0;
    for (; b < blocks; ++b, ++w) dot_block<T>(*w, act, b, last, tail);
    return add_lanes(last) + tail;
}

template <ggml_type T>
float dot_row512(const void * row, const ActRow & act, int64_t blocks) {
    if constexpr (T == GGML_TYPE_Q8_0)
        return dot_simple<T>(row, act, blocks);
    else if constexpr (T == GGML_TYPE_Q2_K || T == GGML_TYPE_Q3_K)
        return dot_narrow512<T>(row, act, blocks);
    else if constexpr (QuantTraits<T>::kElements == kBlock)
        return dot_simple512<T>(row, act, blocks);
    else
        return dot_k512<T>(row, act, blocks);
}
