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

// Q2_K and Q3_K have the fewest bytes per element and so the least time for arithmetic. One activation scale
// per super-block lets everything but one multiply-add stay in integers: sums of four products fit in 16
// bits, and scales are applied to pairs of them. The two bits of all 256 elements are taken from one
// register: the low half of part j holds block j of 32, the high half block 4 + j, the order of
// ActRow::wide_q. Fields of odd parts stay two bits higher, so their scales are taken a quarter as large.

// Positions in the scale bytes for two parts: the upper byte of each word, the lower one zero. A 128-bit lane
// of a part is one group; packing puts part `part` in its lower and `part` + 2 in its upper half.
struct alignas(64) ScaleOrder {
    uint8_t at[64];
};
constexpr ScaleOrder scale_order(int part) {
    ScaleOrder order{};
    for (int i = 0; i < 64; ++i) {
        const int lane = i / 16, j = i % 16 < 8 ? part : part + 2;
        order.at[i] = i % 2 == 0 ? 0x80 : uint8_t(2 * (4 * (lane / 2) + j) + lane % 2);
    }
    return order;
}
inline constexpr ScaleOrder kEvenScales = scale_order(0), kOddScales = scale_order(1);

// Codes of 256 elements as four parts.
struct Parts {
    __m512i even[2], odd[2];
};
// A load that is done once: compilers repeat it in front of every use, and these loads straddle lines.
inline __m512i load_once(const void * p) {
    __m512i x = load512(p);
    asm("" : "+v"(x));
    return x;
}
inline Parts code_parts(const BlockQ2_K & b) {
    const __m512i x = load_once(b.qs), y = _mm512_srli_epi16(x, 4);
    const __m512i low = _mm512_set1_epi8(0x03), high = _mm512_set1_epi8(0x0c);
    return {{_mm512_and_si512(x, low), _mm512_and_si512(y, low)},
            {_mm512_and_si512(x, high), _mm512_and_si512(y, high)}};
}
// Bits of `a` where `mask` is set, of `b` elsewhere.
inline __m512i select_bits(__m512i mask, __m512i a, __m512i b) {
    return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}
inline Parts code_parts(const BlockQ3_K & b) {
    const __m512i x = load_once(b.qs), y = _mm512_srli_epi16(x, 4);
    // Bit j is the third bit of part j; doubling moves it to bit 2, or bit 4 of odd parts.
    const __m512i h = _mm512_srlv_epi16(load_twice(b.hmask), two_words(0, 4));
    const __m512i h2 = _mm512_add_epi8(h, h), h4 = _mm512_add_epi8(h2, h2), h8 = _mm512_add_epi8(h4, h4);
    const __m512i low = _mm512_set1_epi8(0x03), high = _mm512_set1_epi8(0x0c);
    const __m512i even = _mm512_set1_epi8(0x07), odd = _mm512_set1_epi8(0x1c);
    return {
        {_mm512_and_si512(select_bits(low, x, h4), even), _mm512_and_si512(select_bits(low, y, h), even)},
        {_mm512_and_si512(select_bits(high, x, h8), odd), _mm512_and_si512(select_bits(high, y, h2), odd)}};
}

// Sums of four products: those of even parts in words, then of odd ones.
struct PartSums {
    __m512i even, odd;
};
inline PartSums part_sums(const Parts & u, const int8_t * q) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i s0 = _mm512_dpbusd_epi32(zero, u.even[0], load512(q));
    const __m512i s1 = _mm512_dpbusd_epi32(zero, u.odd[0], load512(q + 64));
    const __m512i s2 = _mm512_dpbusd_epi32(zero, u.even[1], load512(q + 128));
    const __m512i s3 = _mm512_dpbusd_epi32(zero, u.odd[1], load512(q + 192));
    return {_mm512_packs_epi32(s0, s2), _mm512_packs_epi32(s1, s3)};
}

// The four half-precision numbers that end a block, times `factor`. They pass through memory, where they can
// be broadcast for nothing; registers would need permutations, the scarcest operations of these loops.
struct BlockEnd {
    alignas(16) float value[4];
};
template <class Block>
inline void load_end(const Block & b, float factor, BlockEnd & end) {
    int64_t halves;
    std::memcpy(&halves, reinterpret_cast<const char *>(&b + 1) - sizeof halves, sizeof halves);
    _mm_store_ps(end.value, _mm_mul_ps(_mm_cvtph_ps(_mm_cvtsi64_si128(halves)), _mm_set1_ps(factor)));
    asm volatile("" : "+m"(end));
}
static_assert(offsetof(BlockQ2_K, d) + 4 == sizeof(BlockQ2_K) &&
              offsetof(BlockQ2_K, dmin) + 2 == sizeof(BlockQ2_K));
static_assert(offsetof(BlockQ3_K, d) + 2 == sizeof(BlockQ3_K));

inline float add_lanes(__m512 x) {
    return add_lanes(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
}

// Helps across the ends of pages, where the processor's own prefetching starts anew. One line per block: more
// take the buffers that the latter needs. Distances and levels are measured, with all cores reading.
template <int Distance, _mm_hint Level>
inline void prefetch_ahead(const void * w) {
    _mm_prefetch(static_cast<const char *>(w) + Distance, Level);
}

inline float dot_q2_k512(const void * row, const ActRow & act, int64_t blocks) {
    const auto * w = static_cast<const BlockQ2_K *>(row);
    const __m512i even = load512(kEvenScales.at), odd = load512(kOddScales.at);
    __m512 acc = _mm512_setzero_ps();
    __m256 rest = _mm256_setzero_ps();
    BlockEnd end;
    const int8_t * q = act.wide_q;
    const int16_t * half_sum = act.half_sum;
    // Few instructions matter here: they bound how far ahead the processor sees the loads.
    for (int64_t b = 0; b < blocks / 8; ++b, ++w, q += kSuperBlock, half_sum += 16) {
        prefetch_ahead<3072, _MM_HINT_T0>(w);
        const PartSums sums = part_sums(code_parts(*w), q);
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(w->scales));
        const __m512i scales = _mm512_and_si512(_mm512_broadcast_i32x4(bytes), _mm512_set1_epi8(0x0f));
        const __m512i even_sum = _mm512_madd_epi16(sums.even, _mm512_shuffle_epi8(scales, even));
        const __m512i sum =
            _mm512_dpwssd_epi32(even_sum, sums.odd, _mm512_srli_epi16(_mm512_shuffle_epi8(scales, odd), 2));
        // Minima where they lie, 16 times their value.
        const __m256i minima = _mm256_and_si256(_mm256_cvtepu8_epi16(bytes), _mm256_set1_epi16(0xf0));
        const __m256i products = _mm256_madd_epi16(minima, load256(half_sum));
        load_end(*w, act.wide_d[b], end);
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(end.value[2]), acc);
        rest = _mm256_fmadd_ps(_mm256_cvtepi32_ps(products), _mm256_set1_ps(end.value[3]), rest);
    }
    // wide_d is d / 1024.
    return 0x1p2f * add_lanes(acc) - 0x1p6f * add_lanes(rest);
}

// Four times the sixteen scales, which makes them use all bits of signed bytes.
inline __m128i scales_times_4(const BlockQ3_K & b) {
    int64_t low;
    int32_t up;
    std::memcpy(&low, b.scales, 8);
    std::memcpy(&up, b.scales + 8, 4);
    // Low nibbles of the first eight, high nibbles of the others, both to bits 2..5.
    const __m128i nibble = _mm_rolv_epi64(_mm_set1_epi64x(low), _mm_set_epi64x(62, 2));
    const __m128i high = _mm_sllv_epi32(_mm_set1_epi32(up), _mm_setr_epi32(6, 4, 2, 0));
    const __m128i both = _mm_ternarylogic_epi32(_mm_set1_epi8(int8_t(0xc0)), high, nibble, 0xca);
    // (both & 0xfc) ^ 0x80: the flipped top bit subtracts 32.
    return _mm_ternarylogic_epi32(both, _mm_set1_epi8(int8_t(0xfc)), _mm_set1_epi8(int8_t(0x80)), 0x6a);
}

inline float dot_q3_k512(const void * row, const ActRow & act, int64_t blocks) {
    const auto * w = static_cast<const BlockQ3_K *>(row);
    const __m512i even = load512(kEvenScales.at), odd = load512(kOddScales.at);
    __m512 acc = _mm512_setzero_ps();
    BlockEnd end;
    const int8_t * q = act.wide_q;
    const int16_t * half_sum = act.half_sum;
    for (int64_t b = 0; b < blocks / 8; ++b, ++w, q += kSuperBlock, half_sum += 16) {
        prefetch_ahead<1536, _MM_HINT_T1>(w);
        const PartSums sums = part_sums(code_parts(*w), q);
        const __m128i bytes = scales_times_4(*w);
        const __m512i scales = _mm512_broadcast_i32x4(bytes);
        // half_sum is negative here. 4 (offset) times 4 times a scale, and 1024 in all as below: 2^10 more.
        const __m256i offset =
            _mm256_slli_epi32(_mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), load256(half_sum)), 10);
        const __m512i even_sum =
            _mm512_dpwssd_epi32(_mm512_zextsi256_si512(offset), sums.even, _mm512_shuffle_epi8(scales, even));
        const __m512i sum =
            _mm512_dpwssd_epi32(even_sum, sums.odd, _mm512_srai_epi16(_mm512_shuffle_epi8(scales, odd), 2));
        load_end(*w, act.wide_d[b], end);
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(end.value[3]), acc);
    }
    return add_lanes(acc);
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
    else if constexpr (T == GGML_TYPE_Q2_K)
        return dot_q2_k512(row, act, blocks);
    else if constexpr (T == GGML_TYPE_Q3_K)
        return dot_q3_k512(row, act, blocks);
    else if constexpr (QuantTraits<T>::kElements == kBlock)
        return dot_simple512<T>(row, act, blocks);
    else
        return dot_k512<T>(row, act, blocks);
}

GGML_QUANT_DOT_ROWS(dot_rows512, dot_row512)
