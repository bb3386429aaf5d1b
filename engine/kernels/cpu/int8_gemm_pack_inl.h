// Included by each int8_gemm_*.cpp inside its anonymous namespace and target: packing that is plain code, and
// the scaling of sums, which every compiler vectorizes. No function here has a name outside the including
// file.

inline int32_t start_of(const int8_t * codes, int64_t k, uint8_t flip) {
    if (flip == 0) return 0;
    uint32_t sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += uint32_t(int32_t(codes[i]));
    return int32_t(0u - 128u * sum);
}

// Panels in pieces of K, so that what 16 or 64 weight rows write to stays in the first-level cache.
template <int Columns, int Step, uint8_t Flip>
void pack_panel_plain(uint8_t * panel, const int8_t * w, int64_t stride, int n, int64_t k) {
    constexpr int64_t kPiece = 256;
    static_assert(kPiece % Step == 0);
    for (int64_t k0 = 0; k0 < k; k0 += kPiece) {
        const int64_t end = k0 + kPiece < k ? k0 + kPiece : k, whole = end - (end - k0) % Step;
        for (int c = 0; c < n; ++c) {
            const int8_t * row = w + c * stride;
            uint8_t * out = panel + k0 * Columns + c * Step;
            for (int64_t i = k0; i < whole; i += Step, out += Columns * Step) {
                for (int j = 0; j < Step; ++j) out[j] = uint8_t(row[i + j]) ^ Flip;
            }
            for (int64_t i = whole; i < end; ++i) out[i - whole] = uint8_t(row[i]) ^ Flip;
        }
    }
}

template <class Act, int Step, uint8_t Flip>
void pack_rows_plain(void * packed, int32_t * start, const int8_t * codes, int64_t stride, int m, int64_t k) {
    Act * const first = static_cast<Act *>(packed);
    for (int r = 0; r < m; ++r, codes += stride) {
        Act * out = first + r * Step;
        int64_t i = 0;
        for (; i + Step <= k; i += Step, out += m * Step) {
            for (int j = 0; j < Step; ++j) out[j] = codes[i + j];
        }
        // What a panel holds past K is multiplied by these zeros.
        if (i < k)
            for (int j = 0; j < Step; ++j) out[j] = i + j < k ? codes[i + j] : Act(0);
        start[r] = start_of(codes, k, Flip);
    }
}

template <class Act, int Pad, uint8_t Flip>
void prepare_row_plain(void * row, int32_t * start, const int8_t * codes, int64_t k) {
    Act * out = static_cast<Act *>(row);
    for (int64_t i = 0; i < k; ++i) out[i] = codes[i];
    for (int64_t i = k; i % Pad != 0; ++i) out[i] = 0;
    *start = start_of(codes, k, Flip);
}

inline void scale_row_plain(float * __restrict y, const int32_t * __restrict sums, int n, float x_scale,
                            const float * __restrict w_scale, const float * __restrict bias) {
    if (w_scale != nullptr && bias != nullptr) {
        for (int i = 0; i < n; ++i) y[i] = float(sums[i]) * x_scale * w_scale[i] + bias[i];
    } else if (w_scale != nullptr) {
        for (int i = 0; i < n; ++i) y[i] = float(sums[i]) * x_scale * w_scale[i];
    } else if (bias != nullptr) {
        for (int i = 0; i < n; ++i) y[i] = float(sums[i]) * x_scale + bias[i];
    } else {
        for (int i = 0; i < n; ++i) y[i] = float(sums[i]) * x_scale;
    }
}
