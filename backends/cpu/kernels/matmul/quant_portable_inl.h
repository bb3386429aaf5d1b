// Packing, one-row products and quantization in plain C++, for sets whose compiler vectorizes well enough.
// Included inside an anonymous namespace, after a struct `Isa` with
//     static int32_t dot16(const uint8_t * u, const int8_t * q);   // sum of 16 products
// No include guard and no includes.

template <ggml_type T>
void pack_panel(const void * const * rows, int64_t first, int64_t last, uint8_t * panel) {
    using Traits = QuantTraits<T>;
    using Block = typename Traits::Block;
    constexpr int kParts = Traits::kElements / kBlock;
    constexpr size_t kBytes = panel_block_bytes(Traits::kGroups, Traits::kMinimum);
    for (int64_t s = first / kParts; s < last / kParts; ++s, panel += kBytes * kParts) {
        for (int r = 0; r < kPanelRows; ++r) {
            const Block & w = static_cast<const Block *>(rows[r])[s];
            float d[16], m[16];
            group_scales(w, d, m);
            for (int j = 0; j < kParts; ++j) {
                uint8_t * out = panel + kBytes * size_t(j);
                uint8_t u[kBlock];
                unpack32(w, j, u);
                for (int k = 0; k < 8; ++k) std::memcpy(out + 64 * k + 4 * r, u + 4 * k, 4);
                float * scales = reinterpret_cast<float *>(out + kPanelRows * kBlock) + r;
                for (int g = 0; g < Traits::kGroups; ++g) {
                    scales[kPanelRows * g] = d[Traits::kGroups * j + g];
                    if constexpr (Traits::kMinimum) {
                        scales[kPanelRows * (Traits::kGroups + g)] = m[Traits::kGroups * j + g];
                    }
                }
            }
        }
    }
}

template <ggml_type T>
float dot_row(const void * row, const ActRow & act, int64_t blocks) {
    using Traits = QuantTraits<T>;
    constexpr int kParts = Traits::kElements / kBlock;
    const auto * w = static_cast<const typename Traits::Block *>(row);
    float result = 0;
    for (int64_t b = 0; b < blocks; b += kParts, ++w) {
        float d[16], m[16];
        group_scales(*w, d, m);
        for (int j = 0; j < kParts; ++j) {
            uint8_t u[kBlock];
            unpack32(*w, j, u);
            const int8_t * q = act.q + kBlock * (b + j);
            const int32_t low = Isa::dot16(u, q), high = Isa::dot16(u + 16, q + 16);
            const float * sum = act.sum + Traits::kGroups * (b + j);
            const float * scale = d + Traits::kGroups * j;
            if constexpr (Traits::kGroups == 1) {
                const int32_t product = low + high + (Traits::kMinimum ? 0 : act.correction[b + j]);
                result += float(product) * scale[0] * act.d[b + j];
                if constexpr (Traits::kMinimum) result += m[j] * sum[0];
            } else {
                result += (float(low) * scale[0] + float(high) * scale[1]) * act.d[b + j];
                if constexpr (Traits::kMinimum)
                    result += m[2 * j] * sum[0] + m[2 * j + 1] * sum[1];
                else
                    result -= float(Traits::kOffset) * (scale[0] * sum[0] + scale[1] * sum[1]);
            }
        }
    }
    return result;
}

void quantize_rows(const float * x, int64_t blocks, int shared, ActBlock * out, int64_t stride) {
    for (int64_t b = 0; b < blocks; b += shared)
        quantize_act_blocks(x + kBlock * b, shared, out + b * stride, stride);
}
