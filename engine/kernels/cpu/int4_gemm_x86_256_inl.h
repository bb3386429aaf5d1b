// Included by int4_gemm_avxvnni.cpp and int4_gemm_avx2.cpp inside their anonymous namespace and target, after
// `Isa` of int8_gemm_x86_inl.h for bytes that were nibbles, and that file. Isa::add_two(sum, w0, x0, w1, x1)
// adds two products of weights 0..15 and codes.

constexpr int kHalf = 32; // bytes of a weight row that one vector takes

// A byte of a panel is a nibble xored with 8.
inline void pack_nibbles(uint8_t * panel, const int8_t * w, int64_t stride, int n, int64_t k) {
    constexpr int64_t kPiece = 512; // as in pack_panel_plain
    for (int64_t k0 = 0; k0 < k; k0 += kPiece) {
        const int64_t end = k0 + kPiece < k ? k0 + kPiece : k;
        for (int c = 0; c < n; ++c) {
            uint8_t * out = panel + k0 * kColumns + 4 * c;
            for (int64_t i = k0; i < end; i += kNibbleStep, out += kNibbleStep * kColumns) {
                const int64_t left = (end - i) / 2;
                uint32_t four = 0;
                std::memcpy(&four, w + c * stride + i / 2, left < 4 ? size_t(left) : sizeof four);
                four ^= 0x88888888;
                const uint32_t even = four & 0x0f0f0f0f, odd = four >> 4 & 0x0f0f0f0f;
                std::memcpy(out, &even, sizeof even);
                std::memcpy(out + 4 * kColumns, &odd, sizeof odd);
            }
        }
    }
}

inline void tile_of_nibbles(int32_t * sums, const uint8_t * panel, const void * packed, const int32_t * start,
                            int m, int64_t steps) {
    tile(sums, panel, packed, start, m, 2 * steps);
}

// Two weight rows side by side; one alone is its own neighbour.
template <int Rows>
void nibble_dots2(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n,
                  const int8_t * rows, size_t row_bytes, const int32_t * start, int64_t k) {
    const int8_t * const w1 = n > 1 ? w + stride : w;
    const __m256i low = _mm256_set1_epi8(0x0f), flip = _mm256_set1_epi8(char(0x88));
    __m256i acc[Rows][2];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = _mm256_setzero_si256();
    const auto add = [&](int64_t i, const int8_t * p0, const int8_t * p1) __attribute__((always_inline)) {
        const int8_t * const p[2] = {p0, p1};
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) {
            const __m256i v =
                _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p[c])), flip);
            const __m256i even = _mm256_and_si256(v, low),
                          odd = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                const int8_t * x = rows + size_t(r) * row_bytes + 2 * i;
                acc[r][c] = Isa::add_two(acc[r][c], even, load_row(x), odd, load_row(x + kHalf));
            }
        }
    };
    const int64_t bytes = k / 2;
    int64_t i = 0;
    for (; i + kHalf <= bytes; i += kHalf) add(i, w + i, w1 + i);
    if (i < bytes) { // what the rows are padded with is zero
        int8_t last[2][kHalf] = {};
        std::memcpy(last[0], w + i, size_t(bytes - i));
        std::memcpy(last[1], w1 + i, size_t(bytes - i));
        add(i, last[0], last[1]);
    }
    for (int r = 0; r < Rows; ++r) {
        for (int c = 0; c < n; ++c)
            sums[r * sums_stride + c] = int32_t(uint32_t(sum_of(acc[r][c])) + uint32_t(start[r]));
    }
}

void nibble_dots(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n,
                 const void * rows, size_t row_bytes, const int32_t * start, int m, int64_t k) {
    const int8_t * acts = static_cast<const int8_t *>(rows);
    for (int c = 0; c < n; c += 2) {
        const int8_t * p = w + c * stride;
        const int two = n - c > 1 ? 2 : 1;
        switch (m) {
        case 1: nibble_dots2<1>(sums + c, sums_stride, p, stride, two, acts, row_bytes, start, k); break;
        case 2: nibble_dots2<2>(sums + c, sums_stride, p, stride, two, acts, row_bytes, start, k); break;
        case 3: nibble_dots2<3>(sums + c, sums_stride, p, stride, two, acts, row_bytes, start, k); break;
        default: nibble_dots2<4>(sums + c, sums_stride, p, stride, two, acts, row_bytes, start, k); break;
        }
    }
}

constexpr Int8Gemm nibble_gemm() {
    Int8Gemm gemm = kGemm;
    gemm.step = kNibbleStep;
    gemm.flip = 8;
    gemm.row_pad = 2 * kHalf;
    gemm.pack_panel = pack_nibbles;
    gemm.pack_rows = pack_split_rows;
    gemm.tile = tile_of_nibbles;
    gemm.prepare_row = prepare_split_row<kHalf>;
    gemm.dots = nibble_dots;
    return gemm;
}
