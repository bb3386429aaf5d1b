// Included by int8_gemm_avxvnni.cpp and int8_gemm_avx2.cpp inside their anonymous namespace and target, after
// a struct `Isa`:
//
//   kStep          K elements of one column in a panel, which make four bytes of packed activations
//   kChunk         elements of a weight row that one vector takes
//   Act            a packed activation
//   kFlip          Int8Gemm::flip
//   panel(p)       vector of eight columns, kStep elements each
//   chunk(w)       kChunk elements of a weight row
//   add(sum, w, x) adds products to 32-bit lanes, exactly modulo 2^32
//
// Tiles are six rows by two vectors: twelve sums, two vectors of weights and one activation fill the sixteen
// registers.

constexpr int kRows = 6, kColumns = 16;
using Act = Isa::Act;

template <int Rows>
void tile_rows(int32_t * sums, const uint8_t * panel, const Act * acts, const int32_t * start,
               int64_t steps) {
    __m256i acc[Rows][2];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = _mm256_set1_epi32(start[r]);
    for (int64_t s = 0; s < steps; ++s, panel += kColumns * Isa::kStep, acts += Rows * Isa::kStep) {
        const __m256i w0 = Isa::panel(panel), w1 = Isa::panel(panel + 8 * Isa::kStep);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            int32_t four;
            std::memcpy(&four, acts + r * Isa::kStep, sizeof four);
            const __m256i a = _mm256_set1_epi32(four);
            acc[r][0] = Isa::add(acc[r][0], w0, a);
            acc[r][1] = Isa::add(acc[r][1], w1, a);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        _mm256_store_si256(reinterpret_cast<__m256i *>(sums + kColumns * r), acc[r][0]);
        _mm256_store_si256(reinterpret_cast<__m256i *>(sums + kColumns * r + 8), acc[r][1]);
    }
}

void tile(int32_t * sums, const uint8_t * panel, const void * packed, const int32_t * start, int m,
          int64_t steps) {
    const Act * acts = static_cast<const Act *>(packed);
    switch (m) {
    case 1: return tile_rows<1>(sums, panel, acts, start, steps);
    case 2: return tile_rows<2>(sums, panel, acts, start, steps);
    case 3: return tile_rows<3>(sums, panel, acts, start, steps);
    case 4: return tile_rows<4>(sums, panel, acts, start, steps);
    case 5: return tile_rows<5>(sums, panel, acts, start, steps);
    default: return tile_rows<6>(sums, panel, acts, start, steps);
    }
}

inline __m256i load_row(const Act * x) { return _mm256_load_si256(reinterpret_cast<const __m256i *>(x)); }

inline int32_t sum_of(__m256i v) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

// Two weight rows side by side; one alone is its own neighbour.
template <int Rows>
void dots2(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n, const Act * rows,
           size_t row_acts, const int32_t * start, int64_t k) {
    const int8_t * const w1 = n > 1 ? w + stride : w;
    __m256i acc[Rows][2];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = _mm256_setzero_si256();
    const auto add = [&](int64_t i, const int8_t * p0, const int8_t * p1) __attribute__((always_inline)) {
        const __m256i v0 = Isa::chunk(p0), v1 = Isa::chunk(p1);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
            const __m256i x = load_row(rows + size_t(r) * row_acts + i);
            acc[r][0] = Isa::add(acc[r][0], v0, x);
            acc[r][1] = Isa::add(acc[r][1], v1, x);
        }
    };
    int64_t i = 0;
    for (; i + Isa::kChunk <= k; i += Isa::kChunk) add(i, w + i, w1 + i);
    if (i < k) { // what the rows are padded with is zero
        int8_t last[2][Isa::kChunk] = {};
        std::memcpy(last[0], w + i, size_t(k - i));
        std::memcpy(last[1], w1 + i, size_t(k - i));
        add(i, last[0], last[1]);
    }
    for (int r = 0; r < Rows; ++r) {
        for (int c = 0; c < n; ++c)
            sums[r * sums_stride + c] = int32_t(uint32_t(sum_of(acc[r][c])) + uint32_t(start[r]));
    }
}

void dots(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n, const void * rows,
          size_t row_bytes, const int32_t * start, int m, int64_t k) {
    const Act * acts = static_cast<const Act *>(rows);
    const size_t row_acts = row_bytes / sizeof(Act);
    for (int c = 0; c < n; c += 2) {
        const int8_t * p = w + c * stride;
        const int two = n - c > 1 ? 2 : 1;
        switch (m) {
        case 1: dots2<1>(sums + c, sums_stride, p, stride, two, acts, row_acts, start, k); break;
        case 2: dots2<2>(sums + c, sums_stride, p, stride, two, acts, row_acts, start, k); break;
        case 3: dots2<3>(sums + c, sums_stride, p, stride, two, acts, row_acts, start, k); break;
        default: dots2<4>(sums + c, sums_stride, p, stride, two, acts, row_acts, start, k); break;
        }
    }
}

constexpr Int8Gemm kGemm = {kRows,
                            kColumns,
                            Isa::kStep,
                            int(sizeof(Act)),
                            Isa::kFlip,
                            Isa::kChunk,
                            pack_panel_plain<kColumns, Isa::kStep, Isa::kFlip>,
                            pack_rows_plain<Act, Isa::kStep, Isa::kFlip>,
                            tile,
                            scale_row_plain,
                            prepare_row_plain<Act, Isa::kChunk, Isa::kFlip>,
                            dots};
