// The 256-bit half of the x86 sets: opening weight blocks, packing panels, one-row products, quantizing rows.
// Textually included by quant_avx2.cpp, quant_avxvnni.cpp and quant_avx512vnni.cpp inside their target region
// and an anonymous namespace, after a struct `Isa` with
//     static __m256i dot(__m256i sum, __m256i u, __m256i s);        // += u8 * s8, four products per lane
//     static __m256i dot_q8_0(__m256i sum, __m256i u, __m256i s);   // the same, for u up to 255
// No include guard and no includes: see backends/cpu/isa/target.h.

inline __m256i load256(const void * p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }
inline __m256i load_nibbles(const uint8_t * qs) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i *>(qs));
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(x, 4), x), _mm256_set1_epi8(15));
}
// Byte i becomes 16 when bit i is set.
inline __m256i load_fifth_bits(const uint8_t * qh) {
    int bits;
    std::memcpy(&bits, qh, sizeof bits);
    const __m256i spread = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i select = _mm256_set1_epi64x(int64_t(0x8040201008040201u));
    const __m256i bytes = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread), select);
    return _mm256_and_si256(_mm256_cmpeq_epi8(bytes, select), _mm256_set1_epi8(16));
}

inline __m256i load32(const BlockQ4_0 & b, int) { return load_nibbles(b.qs); }
inline __m256i load32(const BlockQ4_1 & b, int) { return load_nibbles(b.qs); }
inline __m256i load32(const BlockQ5_0 & b, int) {
    return _mm256_or_si256(load_nibbles(b.qs), load_fifth_bits(b.qh));
}
inline __m256i load32(const BlockQ5_1 & b, int) {
    return _mm256_or_si256(load_nibbles(b.qs), load_fifth_bits(b.qh));
}
inline __m256i load32(const BlockQ8_0 & b, int) {
    return _mm256_xor_si256(load256(b.qs), _mm256_set1_epi8(int8_t(0x80)));
}
inline __m256i load32(const BlockQ2_K & b, int j) {
    const __m256i x = load256(b.qs + 32 * (j / 4));
    return _mm256_and_si256(_mm256_srli_epi16(x, 2 * (j % 4)), _mm256_set1_epi8(3));
}
inline __m256i load32(const BlockQ3_K & b, int j) {
    const __m256i x = load256(b.qs + 32 * (j / 4));
    const __m256i low = _mm256_and_si256(_mm256_srli_epi16(x, 2 * (j % 4)), _mm256_set1_epi8(3));
    // Bit j of the mask byte moves to bit 2.
    const __m256i mask = load256(b.hmask);
    const __m256i moved = j < 2 ? _mm256_slli_epi16(mask, 2 - j) : _mm256_srli_epi16(mask, j - 2);
    return _mm256_or_si256(low, _mm256_and_si256(moved, _mm256_set1_epi8(4)));
}
inline __m256i load32(const BlockQ4_K & b, int j) {
    const __m256i x = load256(b.qs + 32 * (j / 2));
    return _mm256_and_si256(_mm256_srli_epi16(x, 4 * (j % 2)), _mm256_set1_epi8(15));
}
inline __m256i load32(const BlockQ5_K & b, int j) {
    const __m256i x = load256(b.qs + 32 * (j / 2));
    const __m256i low = _mm256_and_si256(_mm256_srli_epi16(x, 4 * (j % 2)), _mm256_set1_epi8(15));
    const __m256i high = load256(b.qh);
    const __m256i moved = j < 4 ? _mm256_slli_epi16(high, 4 - j) : _mm256_srli_epi16(high, j - 4);
    return _mm256_or_si256(low, _mm256_and_si256(moved, _mm256_set1_epi8(16)));
}
inline __m256i load32(const BlockQ6_K & b, int j) {
    const __m256i x = load256(b.ql + 64 * (j / 4) + 32 * (j % 2));
    const __m256i low = _mm256_and_si256(_mm256_srli_epi16(x, 4 * ((j % 4) / 2)), _mm256_set1_epi8(15));
    const __m256i y = load256(b.qh + 32 * (j / 4));
    const int k = j % 4;
    const __m256i moved = k < 2 ? _mm256_slli_epi16(y, 4 - 2 * k) : _mm256_srli_epi16(y, 2 * k - 4);
    return _mm256_or_si256(low, _mm256_and_si256(moved, _mm256_set1_epi8(48)));
}

inline float half_value(uint16_t bits) { return _cvtsh_ss(bits); }
// Scales and minima of a super-block as bytes: eight in the low half, or sixteen.
struct ScaleBytes {
    __m128i scale, minimum;
};
inline ScaleBytes load_pairs(const uint8_t * packed) {
    uint32_t a, b, c;
    std::memcpy(&a, packed, 4);
    std::memcpy(&b, packed + 4, 4);
    std::memcpy(&c, packed + 8, 4);
    const uint32_t scale_high = (c & 0x0f0f0f0fu) | (((a >> 6) & 0x03030303u) << 4);
    const uint32_t minimum_high = ((c >> 4) & 0x0f0f0f0fu) | (((b >> 6) & 0x03030303u) << 4);
    return {_mm_cvtsi64_si128(int64_t((a & 0x3f3f3f3fu) | (uint64_t(scale_high) << 32))),
            _mm_cvtsi64_si128(int64_t((b & 0x3f3f3f3fu) | (uint64_t(minimum_high) << 32)))};
}
inline ScaleBytes scale_bytes(const BlockQ4_K & b) { return load_pairs(b.scales); }
inline ScaleBytes scale_bytes(const BlockQ5_K & b) { return load_pairs(b.scales); }
inline ScaleBytes scale_bytes(const BlockQ2_K & b) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b.scales));
    const __m128i mask = _mm_set1_epi8(15);
    return {_mm_and_si128(x, mask), _mm_and_si128(_mm_srli_epi16(x, 4), mask)};
}
inline ScaleBytes scale_bytes(const BlockQ6_K & b) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i *>(b.scales)), _mm_setzero_si128()};
}
inline ScaleBytes scale_bytes(const BlockQ3_K & b) {
    uint64_t low;
    uint32_t up;
    std::memcpy(&low, b.scales, 8);
    std::memcpy(&up, b.scales + 8, 4);
    const __m128i nibble = _mm_and_si128(_mm_set_epi64x(int64_t(low >> 4), int64_t(low)), _mm_set1_epi8(15));
    // Two bits of each scale: groups of four scales share the bytes of `up`, two bits further each.
    const __m128i shifted = _mm_srlv_epi32(_mm_set1_epi32(int(up)), _mm_setr_epi32(0, 2, 4, 6));
    const __m128i high = _mm_slli_epi16(_mm_and_si128(shifted, _mm_set1_epi8(3)), 4);
    return {_mm_sub_epi8(_mm_or_si128(nibble, high), _mm_set1_epi8(32)), _mm_setzero_si128()};
}

// Only Q3_K and Q6_K have negative scales; the others' are below 128, so one sign extension serves all.
inline __m256 bytes_to_float(__m128i x) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)); }

// The same as floats, without the block's d and dmin.
struct SuperScales {
    __m256 scale[2], minimum[2];
};
template <class Block>
inline SuperScales load_scales(const Block & b) {
    const ScaleBytes x = scale_bytes(b);
    return {{bytes_to_float(x.scale), bytes_to_float(_mm_unpackhi_epi64(x.scale, x.scale))},
            {bytes_to_float(x.minimum), bytes_to_float(_mm_unpackhi_epi64(x.minimum, x.minimum))}};
}

inline float block_minimum(const BlockQ2_K & b) { return half_value(b.dmin); }
inline float block_minimum(const BlockQ4_K & b) { return half_value(b.dmin); }
inline float block_minimum(const BlockQ5_K & b) { return half_value(b.dmin); }
template <class Block>
inline float block_minimum(const Block &) {
    return 0.0f;
}

inline float add_lanes(__m256 x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

template <ggml_type T>
inline __m256i dot32(__m256i sum, __m256i u, __m256i s) {
    if constexpr (T == GGML_TYPE_Q8_0) return Isa::dot_q8_0(sum, u, s);
    return Isa::dot(sum, u, s);
}

// One stored block of 32 elements: adds to `acc`, and the part of the minimum to `rest`.
template <ggml_type T>
inline void dot_block(const typename QuantTraits<T>::Block & w, const ActRow & act, int64_t b, __m256 & acc,
                      float & rest) {
    __m256i sum = _mm256_setzero_si256();
    if constexpr (!QuantTraits<T>::kMinimum)
        sum = _mm256_zextsi128_si256(_mm_cvtsi32_si128(act.correction[b]));
    sum = dot32<T>(sum, load32(w, 0), load256(act.q + 32 * b));
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(half_value(w.d) * act.d[b]), acc);
    if constexpr (QuantTraits<T>::kMinimum) rest += half_value(w.m) * act.sum[b];
}

template <ggml_type T>
float dot_simple(const void * row, const ActRow & act, int64_t blocks) {
    const auto * w = static_cast<const typename QuantTraits<T>::Block *>(row);
    // Independent sums hide the latency of the multiply-add chain.
    __m256 acc0 = _mm256_setzero_ps(), acc1 = acc0;
    float rest0 = 0, rest1 = 0;
    int64_t b = 0;
    for (; b + 2 <= blocks; b += 2) {
        dot_block<T>(w[b], act, b, acc0, rest0);
        dot_block<T>(w[b + 1], act, b + 1, acc1, rest1);
    }
    if (b < blocks) dot_block<T>(w[b], act, b, acc0, rest0);
    return add_lanes(_mm256_add_ps(acc0, acc1)) + (rest0 + rest1);
}

// One super-block of a type with eight groups of 32.
template <ggml_type T>
inline void dot_super(const typename QuantTraits<T>::Block & w, const SuperScales & s, const ActRow & act,
                      int64_t b, __m256 * acc, __m256 & rest) {
    alignas(32) float factor[16];
    const __m256 scale = _mm256_mul_ps(_mm256_set1_ps(half_value(w.d)), _mm256_loadu_ps(act.d + b));
    if constexpr (QuantTraits<T>::kGroups == 1) {
        _mm256_store_ps(factor, _mm256_mul_ps(s.scale[0], scale));
        rest = _mm256_fnmadd_ps(_mm256_mul_ps(s.minimum[0], _mm256_set1_ps(block_minimum(w))),
                                _mm256_loadu_ps(act.sum + b), rest);
    } else {
        const __m256i first = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3),
                      second = _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7);
        _mm256_store_ps(factor, _mm256_mul_ps(s.scale[0], _mm256_permutevar8x32_ps(scale, first)));
        _mm256_store_ps(factor + 8, _mm256_mul_ps(s.scale[1], _mm256_permutevar8x32_ps(scale, second)));
        // What is subtracted: the minimum, or the offset times the scale.
        const bool minimum = QuantTraits<T>::kMinimum;
        const __m256 m =
            _mm256_set1_ps(minimum ? block_minimum(w) : half_value(w.d) * float(QuantTraits<T>::kOffset));
        const __m256 * part = minimum ? s.minimum : s.scale;
        rest = _mm256_fnmadd_ps(_mm256_mul_ps(part[0], m), _mm256_loadu_ps(act.sum + 2 * b), rest);
        rest = _mm256_fnmadd_ps(_mm256_mul_ps(part[1], m), _mm256_loadu_ps(act.sum + 2 * b + 8), rest);
    }
    const __m256i low_high = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
        const __m256i sum = dot32<T>(_mm256_setzero_si256(), load32(w, j), load256(act.q + 32 * (b + j)));
        __m256 f;
        if constexpr (QuantTraits<T>::kGroups == 1) {
            f = _mm256_broadcast_ss(factor + j);
        } else {
            double pair;
            std::memcpy(&pair, factor + 2 * j, sizeof pair);
            f = _mm256_permutevar_ps(_mm256_castpd_ps(_mm256_set1_pd(pair)), low_high);
        }
        acc[j % 4] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), f, acc[j % 4]);
    }
}

template <ggml_type T>
float dot_k(const void * row, const ActRow & act, int64_t blocks) {
    const auto * w = static_cast<const typename QuantTraits<T>::Block *>(row);
    __m256 acc[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    __m256 rest = _mm256_setzero_ps();
    for (int64_t b = 0; b < blocks; b += 8) dot_super<T>(w[b / 8], load_scales(w[b / 8]), act, b, acc, rest);
    return add_lanes(
        _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(acc[0], acc[1]), _mm256_add_ps(acc[2], acc[3])), rest));
}

template <ggml_type T>
float dot_row(const void * row, const ActRow & act, int64_t blocks) {
    if constexpr (QuantTraits<T>::kElements == kBlock)
        return dot_simple<T>(row, act, blocks);
    else
        return dot_k<T>(row, act, blocks);
}

GGML_QUANT_DOT_ROWS(dot_rows, dot_row)

// Writes d (and m) of every group of a stored block to column `row` of the panel blocks.
template <ggml_type T>
inline void pack_scales(const typename QuantTraits<T>::Block & w, uint8_t * panel, int row) {
    using Traits = QuantTraits<T>;
    constexpr size_t kBytes = panel_block_bytes(Traits::kGroups, Traits::kMinimum);
    constexpr int kCount = Traits::kElements / kBlock * Traits::kGroups;
    alignas(32) float d[16], m[16];
    if constexpr (Traits::kElements == kBlock) {
        d[0] = half_value(w.d);
        if constexpr (Traits::kMinimum) m[0] = half_value(w.m);
    } else {
        const SuperScales s = load_scales(w);
        const __m256 scale = _mm256_set1_ps(half_value(w.d)), minimum = _mm256_set1_ps(-block_minimum(w));
        for (int h = 0; h < Traits::kGroups; ++h) {
            _mm256_store_ps(d + 8 * h, _mm256_mul_ps(s.scale[h], scale));
            _mm256_store_ps(m + 8 * h, _mm256_mul_ps(s.minimum[h], minimum));
        }
    }
    for (int g = 0; g < kCount; ++g) {
        float * out =
            reinterpret_cast<float *>(panel + kBytes * size_t(g / Traits::kGroups) + kPanelRows * kBlock) +
            kPanelRows * (g % Traits::kGroups) + row;
        out[0] = d[g];
        if constexpr (Traits::kMinimum) out[kPanelRows * Traits::kGroups] = m[g];
    }
}

// Eight rows of 32 bytes become eight groups of [8 rows][4 bytes], 64 bytes apart.
inline void transpose_store(const __m256i * v, uint8_t * out) {
    __m256i a[8], b[8];
    for (int i = 0; i < 4; ++i) {
        a[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
        b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_store_si256(reinterpret_cast<__m256i *>(out + 64 * i),
                           _mm256_permute2x128_si256(b[i], b[i + 4], 0x20));
        _mm256_store_si256(reinterpret_cast<__m256i *>(out + 64 * (i + 4)),
                           _mm256_permute2x128_si256(b[i], b[i + 4], 0x31));
    }
}

template <ggml_type T>
void pack_panel(const void * const * rows, int64_t first, int64_t last, uint8_t * panel) {
    using Traits = QuantTraits<T>;
    using Block = typename Traits::Block;
    constexpr int kParts = Traits::kElements / kBlock;
    constexpr size_t kBytes = panel_block_bytes(Traits::kGroups, Traits::kMinimum);
    for (int64_t s = first / kParts; s < last / kParts; ++s, panel += kBytes * kParts) {
        for (int r = 0; r < kPanelRows; ++r) pack_scales<T>(static_cast<const Block *>(rows[r])[s], panel, r);
        for (int half = 0; half < kPanelRows; half += 8) {
            for (int j = 0; j < kParts; ++j) {
                __m256i v[8];
                for (int i = 0; i < 8; ++i) v[i] = load32(static_cast<const Block *>(rows[half + i])[s], j);
                transpose_store(v, panel + kBytes * size_t(j) + 4 * half);
            }
        }
    }
}

// Bits of the largest magnitude of n floats, a multiple of 32.
inline int32_t top_magnitude(const float * x, int n) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i top[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int i = 0; i < n; i += 16) {
        for (int h = 0; h < 2; ++h)
            top[h] = _mm256_max_epi32(top[h], _mm256_and_si256(load256(x + i + 8 * h), magnitude));
    }
    top[0] = _mm256_max_epi32(top[0], top[1]);
    __m128i t = _mm_max_epi32(_mm256_castsi256_si128(top[0]), _mm256_extracti128_si256(top[0], 1));
    t = _mm_max_epi32(t, _mm_unpackhi_epi64(t, t));
    t = _mm_max_epi32(t, _mm_shuffle_epi32(t, 1));
    return _mm_cvtsi128_si32(t);
}

inline void quantize_block(const float * x, const ActScale & scale, ActBlock * out) {
    out->d = scale.d;
    out->unused = 0;
    if (scale.inverse == 0.0f) {
        std::memset(out->q, 0, kBlock);
        out->correction[0] = out->correction[1] = 0;
        return;
    }
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i n[4];
    for (int i = 0; i < 4; ++i)
        n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(scale.inverse)));
    const __m256i words0 = _mm256_packs_epi32(n[0], n[1]), words1 = _mm256_packs_epi32(n[2], n[3]);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words0, words1), order);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(out->q), bytes);
    const __m256i ones = _mm256_set1_epi16(1);
    // Lanes of both halves side by side: after two horizontal adds, one sum per 128-bit half and input.
    const __m256i pairs = _mm256_hadd_epi32(_mm256_madd_epi16(words0, ones), _mm256_madd_epi16(words1, ones));
    const __m256i sums = _mm256_hadd_epi32(pairs, pairs);
    const __m128i both = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    out->correction[0] = _mm_cvtsi128_si32(both);
    out->correction[1] = _mm_extract_epi32(both, 1);
}

void quantize_rows(const float * x, int64_t blocks, int shared, ActBlock * out, int64_t stride) {
    for (int64_t b = 0; b < blocks; b += shared) {
        const ActScale scale = act_scale(top_magnitude(x, shared * kBlock));
        for (int i = 0; i < shared; ++i, x += kBlock, out += stride) quantize_block(x, scale, out);
    }
}
