#include "backends/cpu/kernels/matmul/quant_matmul.h"

#include "backends/cpu/isa/cpu_features.h"
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "runtime/base/log.h"

#include <algorithm>

namespace ggml::cpu::matmul {
namespace {

// Up to this many rows the stored blocks are multiplied directly, once per row: opening panels costs about as
// much as two such passes.
constexpr int64_t kDirectRows = 2;
// Activation rows quantized at a time: bounds scratch; a multiple of the tile.
constexpr int64_t kRowBlock = 256 * kTileRows;
// Blocks of 32 per panel: a tile of activations (18 KiB) stays in the first-level cache, a group of panels
// (about 300 KiB) in the second. A multiple of 8, as K types need.
constexpr int64_t kDepth = 64;
// Weight rows a thread opens at a time.
constexpr int64_t kGroupRows = 128;
constexpr int64_t kPairRows = 2 * kPanelRows;

constexpr size_t kGroupBytes =
    slice_bytes(size_t(kGroupRows / kPanelRows) * kDepth * panel_block_bytes(2, true));

struct Product {
    const Weights & weights;
    const RowFormat & format;
    const QuantKernels & kernels;
    QuantInfo info;
    ActLayout layout;
    int64_t blocks; // of 32 elements, in a row
};

// Quantizes one row into blocks `stride` apart.
void quantize_row(const Product & p, const char * x, ActBlock * out, int64_t stride) {
    if (p.format.plain_floats()) {
        p.kernels.quantize(reinterpret_cast<const float *>(x), p.blocks, p.info.shared, out, stride);
    } else {
        constexpr int64_t kChunk = kSuperBlock / kBlock; // a multiple of every `shared`
        float values[kChunk * kBlock];
        for (int64_t b = 0; b < p.blocks; b += kChunk) {
            const int64_t n = std::min(kChunk, p.blocks - b);
            read_floats(p.format.type, p.format.elem_stride, x, b * kBlock, n * kBlock, values);
            p.kernels.quantize(values, n, p.info.shared, out + b * stride, stride);
        }
    }
    for (int64_t b = 0; b < p.blocks; ++b) finish_act_block(p.layout, out[b * stride]);
}

// The same, into the arrays of the one-row product.
ActRow quantize_direct(const Product & p, const char * x, std::byte * memory) {
    auto * q = reinterpret_cast<int8_t *>(memory);
    auto * wide_q = q + p.blocks * kBlock;
    auto * d = reinterpret_cast<float *>(wide_q + p.blocks * kBlock);
    auto * wide_d = d + p.blocks;
    auto * correction = reinterpret_cast<int32_t *>(wide_d + p.blocks);
    auto * sum = reinterpret_cast<float *>(correction + p.blocks);
    auto * half_sum = reinterpret_cast<int16_t *>(sum + p.blocks * 2);
    const bool wide = p.info.shared > 1;
    constexpr int64_t kChunk = kSuperBlock / kBlock;
    for (int64_t first = 0; first < p.blocks; first += kChunk) {
        float values[kSuperBlock];
        ActBlock blocks[kChunk];
        const int64_t n = std::min(kChunk, p.blocks - first);
        read_floats(p.format.type, p.format.elem_stride, x, first * kBlock, n * kBlock, values);
        p.kernels.quantize(values, n, p.info.shared, blocks, 1);
        for (int64_t i = 0; i < n; ++i) {
            const ActBlock & block = blocks[i];
            const int64_t b = first + i;
            const int32_t low = block.correction[0], high = block.correction[1];
            std::copy_n(block.q, kBlock, q + b * kBlock);
            d[b] = block.d;
            correction[b] = -p.layout.offset * (low + high);
            if (p.layout.groups == 1)
                sum[b] = block.d * float(low + high);
            else
                sum[2 * b] = block.d * float(low), sum[2 * b + 1] = block.d * float(high);
            if (!wide) continue;
            const int sign = p.layout.minimum ? 1 : -1;
            half_sum[2 * b] = int16_t(sign * low), half_sum[2 * b + 1] = int16_t(sign * high);
            std::copy_n(block.q, kBlock, wide_q + (first + i % 4 * 2 + i / 4) * kBlock);
        }
        if (wide) wide_d[first / kChunk] = blocks[0].d * 0x1p-10f;
    }
    if (!wide) return {q, d, sum, correction, nullptr, nullptr, nullptr};
    return {q, d, sum, correction, half_sum, wide_q, wide_d};
}

void direct_product(const Team & team, const Product & p, std::span<const RowPair> pairs,
                    std::byte * memory) {
    ActRow acts[kDirectRows];
    for (size_t m = 0; m < pairs.size(); ++m) {
        acts[m] = quantize_direct(p, pairs[m].x, memory + m * slice_bytes(act_row_bytes(p.weights.cols)));
    }
    const DotFn dot = p.kernels.dot[p.info.index];
    // A second thread pays from about 16 KiB of weights on.
    const int64_t row_bytes = p.blocks * kBlock / p.info.elements * int64_t(p.info.bytes);
    team.parallel_for(p.weights.rows, 1 + (16 << 10) / row_bytes, [&](int64_t begin, int64_t end) {
        // A few rows at a time, so that they are still in the nearest cache for a second activation row.
        const int64_t step = pairs.size() == 1 ? end - begin : 4;
        for (int64_t n = begin; n < end; n += step) {
            for (size_t m = 0; m < pairs.size(); ++m)
                dot(p.weights.row(n), p.weights.row_stride, std::min(step, end - n), acts[m], p.blocks,
                    pairs[m].y + n);
        }
    });
}

// Results of two panels for one tile of activation rows. The last panels of a matrix may be wider than it:
// their results pass through a buffer.
void run_tile(TileFn fn, TileArgs & args, std::span<const RowPair> rows, int64_t n0, int64_t n_valid) {
    float buffer[kTileRows * kPairRows];
    const bool whole = n_valid == kPairRows, accumulate = args.accumulate;
    for (size_t r = 0; r < rows.size(); ++r) args.out[r] = whole ? rows[r].y + n0 : buffer + r * kPairRows;
    args.accumulate = whole && accumulate;
    fn(args);
    args.accumulate = accumulate;
    if (whole) return;
    for (size_t r = 0; r < rows.size(); ++r) {
        for (int64_t n = 0; n < n_valid; ++n) {
            float & y = rows[r].y[n0 + n];
            y = accumulate ? y + buffer[r * kPairRows + size_t(n)] : buffer[r * kPairRows + size_t(n)];
        }
    }
}

// Weight rows [n0, n1) times all rows of a block of activations.
void multiply_group(const Product & p, std::span<const RowPair> pairs, const ActBlock * acts, int64_t n0,
                    int64_t n1, uint8_t * panels) {
    const bool own_tile = p.info.index == kQ8_0 && p.kernels.tile_q8_0[1] != nullptr;
    const auto & tiles = own_tile ? p.kernels.tile_q8_0 : p.kernels.tile[p.info.groups - 1][p.info.minimum];
    const size_t block_bytes = panel_block_bytes(p.info.groups, p.info.minimum);
    const int64_t n_panels = ceil_div(n1 - n0, kPairRows) * 2;
    for (int64_t first = 0; first < p.blocks; first += kDepth) {
        const int64_t depth = std::min(kDepth, p.blocks - first);
        for (int64_t i = 0; i < n_panels; ++i) {
            const void * rows[kPanelRows];
            for (int64_t r = 0; r < kPanelRows; ++r)
                rows[r] = p.weights.row(std::min(n0 + i * kPanelRows + r, n1 - 1));
            p.kernels.pack[p.info.index](rows, first, first + depth,
                                         panels + size_t(i * depth) * block_bytes);
        }
        TileArgs args{nullptr, size_t(depth) * block_bytes, nullptr, depth, {}, first > 0};
        for (size_t m = 0; m < pairs.size(); m += kTileRows) {
            const size_t n_rows = std::min<size_t>(kTileRows, pairs.size() - m);
            args.acts = acts + int64_t(m) * p.blocks + first * int64_t(n_rows);
            for (int64_t i = 0; i < n_panels; i += 2) {
                args.panel = panels + size_t(i * depth) * block_bytes;
                const int64_t n = n0 + i * kPanelRows;
                run_tile(tiles[n_rows], args, pairs.subspan(m, n_rows), n, std::min(kPairRows, n1 - n));
            }
        }
    }
}

// One block of activation rows: quantize, then multiply groups of weight rows, handed out as threads get
// free.
void blocked_product(const Team & team, const Product & p, std::span<const RowPair> pairs, ActBlock * acts,
                     uint8_t * panels) {
    const int64_t n_tiles = ceil_div(int64_t(pairs.size()), kTileRows);
    team.parallel_for(n_tiles, 1, [&](int64_t begin, int64_t end) {
        for (int64_t m = begin * kTileRows; m < std::min<int64_t>(end * kTileRows, int64_t(pairs.size()));
             ++m) {
            const int64_t tile = m / kTileRows * kTileRows;
            const int64_t stride = std::min<int64_t>(kTileRows, int64_t(pairs.size()) - tile);
            quantize_row(p, pairs[size_t(m)].x, acts + tile * p.blocks + (m - tile), stride);
        }
    });
    // Smaller groups when there would be too few for an even split; the results do not depend on it.
    int64_t group = kGroupRows;
    while (group > kPairRows && ceil_div(p.weights.rows, group) < 4 * team.n_threads()) group /= 2;
    const int64_t n_groups = ceil_div(p.weights.rows, group);
    std::atomic<int64_t> next{0};
    team.run(int(std::min<int64_t>(n_groups, team.n_threads())), [&](int ith, int) {
        for (int64_t g = next.fetch_add(1); g < n_groups; g = next.fetch_add(1)) {
            multiply_group(p, pairs, acts, g * group, std::min((g + 1) * group, p.weights.rows),
                           panels + size_t(ith) * kGroupBytes);
        }
    });
}

size_t direct_bytes(int64_t cols) {
    return saturating_mul(kDirectRows, slice_bytes(saturating_mul(cols / kBlock, act_row_bytes(kBlock))));
}
size_t acts_bytes(int64_t cols, int64_t max_rows) {
    return slice_bytes(saturating_mul(std::min(max_rows, kRowBlock), cols / kBlock, sizeof(ActBlock)));
}

} // namespace

size_t quant_scratch(int64_t cols, int64_t max_rows, int n_threads) {
    if (max_rows <= kDirectRows) return direct_bytes(cols);
    return std::max(direct_bytes(cols),
                    saturating_add(acts_bytes(cols, max_rows), saturating_mul(n_threads, kGroupBytes)));
}

ggml_status quant_product(const Team & team, const Weights & weights, std::span<const RowPair> pairs,
                          const RowFormat & format, std::span<std::byte> scratch) {
    if (pairs.empty() || weights.rows == 0) return GGML_STATUS_SUCCESS;
    const int64_t n_pairs = int64_t(pairs.size());
    if (scratch.size() < quant_scratch(weights.cols, n_pairs, team.n_threads())) {
        GGML_LOG_ERROR("CPU: quantized product of %lld rows got %zu bytes of scratch\n", (long long)n_pairs,
                       scratch.size());
        return GGML_STATUS_FAILED;
    }
    const QuantKernels & kernels = quant_kernels();
    const QuantInfo info = quant_info(weights.type);
    const bool is_signed = info.index == kQ8_0 && kernels.q8_0_is_signed;
    const ActLayout layout{info.groups, is_signed ? 0 : info.offset, info.minimum};
    const Product p{weights, format, kernels, info, layout, weights.cols / kBlock};
    if (n_pairs <= kDirectRows) {
        direct_product(team, p, pairs, scratch.data());
        return GGML_STATUS_SUCCESS;
    }
    auto * acts = reinterpret_cast<ActBlock *>(scratch.data());
    auto * panels = reinterpret_cast<uint8_t *>(scratch.data()) + acts_bytes(weights.cols, n_pairs);
    // Equal blocks rather than full ones and a small last one: each opens all the weights again.
    const int64_t n_blocks = ceil_div(n_pairs, kRowBlock);
    const int64_t step = ceil_div(ceil_div(n_pairs, n_blocks), kTileRows) * kTileRows;
    for (int64_t m = 0; m < n_pairs; m += step) {
        if (m > 0 && team.aborted()) return GGML_STATUS_ABORTED;
        blocked_product(team, p, pairs.subspan(size_t(m), size_t(std::min(step, n_pairs - m))), acts, panels);
    }
    return GGML_STATUS_SUCCESS;
}

const QuantKernels & quant_kernels() {
#if defined(__x86_64__)
    const CpuFeatures & features = cpu_features();
    if (features.avx512vnni) return quant_kernels_avx512vnni();
    if (features.avxvnni) return quant_kernels_avxvnni();
    if (features.avx2) return quant_kernels_avx2();
#elif defined(__aarch64__)
    if (cpu_features().dotprod) return quant_kernels_dotprod();
#endif
    return quant_kernels_portable();
}

} // namespace ggml::cpu::matmul
