// Included by each x86 int4_gemm_*.cpp inside its anonymous namespace and target: activations in the order
// that makes nibbles cheap (see int4_gemm.h).

constexpr int kNibbleStep = 8; // K elements of four bytes of weights, two steps of a tile

// The codes of the even columns in the low half, those of the odd ones in the high half.
inline void split_codes(uint64_t eight, char * even, char * odd) {
    const uint32_t low = uint32_t(_pext_u64(eight, 0x00ff00ff00ff00ff));
    const uint32_t high = uint32_t(_pext_u64(eight, 0xff00ff00ff00ff00));
    std::memcpy(even, &low, sizeof low);
    std::memcpy(odd, &high, sizeof high);
}

inline uint64_t codes_at(const int8_t * codes, int64_t left) {
    uint64_t eight = 0; // what weights are padded with is multiplied by these zeros
    std::memcpy(&eight, codes, left < 8 ? size_t(left) : sizeof eight);
    return eight;
}

inline int32_t nibble_start(const int8_t * codes, int64_t k) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += uint32_t(int32_t(codes[i]));
    return int32_t(0u - 8u * sum);
}

inline void pack_split_rows(void * packed, int32_t * start, const int8_t * codes, int64_t stride, int m,
                            int64_t k) {
    for (int r = 0; r < m; ++r, codes += stride) {
        char * out = static_cast<char *>(packed) + 4 * r;
        for (int64_t i = 0; i < k; i += kNibbleStep, out += m * kNibbleStep)
            split_codes(codes_at(codes + i, k - i), out, out + 4 * m);
        start[r] = nibble_start(codes, k);
    }
}

// For dot products: the even codes of 2 * Bytes columns, then their odd ones.
template <int Bytes>
void prepare_split_row(void * row, int32_t * start, const int8_t * codes, int64_t k) {
    char * out = static_cast<char *>(row);
    for (int64_t i = 0; i < k; i += 2 * Bytes, out += 2 * Bytes) {
        for (int j = 0; j < Bytes; j += 4) {
            const int64_t at = i + 2 * j;
            split_codes(at < k ? codes_at(codes + at, k - at) : 0, out + j, out + Bytes + j);
        }
    }
    *start = nibble_start(codes, k);
}
