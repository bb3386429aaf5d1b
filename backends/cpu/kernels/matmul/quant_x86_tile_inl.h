// Tiles in 256-bit registers: eight weight rows at a time, so that six sums, six results and the operands fit
// in sixteen registers. Included like quant_x86_inl.h, after it; GGML_TILE_STEPS is the unrolling of the
// inner loop.

inline __m256i broadcast4(const int8_t * q) {
    int32_t four;
    std::memcpy(&four, q, sizeof four);
    return _mm256_set1_epi32(four);
}

// One group of a block; `p` points at the eight rows' column of the panel. Q8: the weights use all eight
// bits.
template <int Rows, int Groups, bool Minimum, bool Q8>
inline __attribute__((always_inline)) void tile_group(const uint8_t * p, const ActBlock * acts, int group,
                                                      __m256 (&acc)[Rows]) {
    constexpr int kSteps = 8 / Groups;
    __m256i sum[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        sum[r] = Minimum ? _mm256_setzero_si256() : _mm256_set1_epi32(acts[r].correction[group]);
    }
    GGML_TILE_STEPS
    for (int k = group * kSteps; k < (group + 1) * kSteps; ++k) {
        const __m256i w = load256(p + 64 * k);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const __m256i a = broadcast4(acts[r].q + 4 * k);
            sum[r] = Q8 ? Isa::dot_q8_0(sum[r], w, a) : Isa::dot(sum[r], w, a);
        }
    }
    const uint8_t * scales = p + kPanelRows * kBlock + kPanelRows * sizeof(float) * size_t(group);
    const __m256 d = _mm256_loadu_ps(reinterpret_cast<const float *>(scales));
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        acc[r] =
            _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum[r]), d), _mm256_set1_ps(acts[r].d), acc[r]);
    }
    if constexpr (Minimum) {
        const __m256 m = _mm256_loadu_ps(reinterpret_cast<const float *>(scales) + kPanelRows * Groups);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
            acc[r] = _mm256_fmadd_ps(m, _mm256_set1_ps(acts[r].sum[group]), acc[r]);
    }
}

// `Count` activation rows, whose blocks are `stride` apart, times eight weight rows.
template <int Count, int Groups, bool Minimum, bool Q8>
void tile_part(const TileArgs & args, int column, int first, int stride) {
    // The u columns of eight rows are 32 bytes wide, and so are their scales: one offset serves both.
    const uint8_t * p =
        args.panel + size_t(column / kPanelRows) * args.panel_stride + 4 * (column % kPanelRows);
    const ActBlock * acts = args.acts + first;
    __m256 acc[Count];
#pragma GCC unroll 8
    for (int r = 0; r < Count; ++r) acc[r] = _mm256_setzero_ps();
    for (int64_t b = 0; b < args.blocks; ++b) {
        tile_group<Count, Groups, Minimum, Q8>(p, acts, 0, acc);
        if constexpr (Groups == 2) tile_group<Count, Groups, Minimum, Q8>(p, acts, 1, acc);
        p += panel_block_bytes(Groups, Minimum);
        acts += stride;
    }
#pragma GCC unroll 8
    for (int r = 0; r < Count; ++r) {
        float * out = args.out[first + r] + column;
        if (args.accumulate) acc[r] = _mm256_add_ps(acc[r], _mm256_loadu_ps(out));
        _mm256_storeu_ps(out, acc[r]);
    }
}

template <int Rows, int Groups, bool Minimum, bool Q8>
void tile_any(const TileArgs & args) {
    // Sets without VNNI need temporaries: fewer rows at a time, or the compiler keeps sums in memory.
    constexpr int kFirst = Rows < Isa::kRows ? Rows : Isa::kRows;
    for (int column = 0; column < 2 * kPanelRows; column += 8) {
        tile_part<kFirst, Groups, Minimum, Q8>(args, column, 0, Rows);
        if constexpr (Rows > kFirst)
            tile_part<Rows - kFirst, Groups, Minimum, Q8>(args, column, kFirst, Rows);
    }
}

template <int Rows, int Groups, bool Minimum>
void tile(const TileArgs & args) {
    tile_any<Rows, Groups, Minimum, false>(args);
}
