#include "backends/cpu/kernels/copy/copy_tensor.h"

#include "backends/cpu/kernels/copy/element.h"
#include "backends/cpu/kernels/copy/transpose.h"
#include "runtime/base/math.h"
#include "runtime/tensor/types.h"

#include <algorithm>

namespace ggml::cpu {
namespace {

// Tiles go through a buffer in the first cache level, so that each line of source and destination is touched
// once, in a run: with power-of-two strides the lines of a larger tile would evict each other.
constexpr size_t kTileBytes = 16 * 1024;
constexpr int64_t kTileCols = 64;

// The loop along which the source is contiguous, when a transposition is needed to use that; 0 otherwise.
int transposed_loop(const LoopNest & nest, const RowMover & mover) {
    const Loop & inner = nest.loop[0];
    if (inner.dst != mover.dst_unit || inner.src == mover.src_unit || !can_transpose(mover.src_unit))
        return 0;
    for (int k = 1; k < nest.count; ++k) {
        if (nest.loop[k].src == mover.src_unit) return k;
    }
    return 0;
}

struct TransposedCopy {
    Loop row, col;  // the destination is contiguous along row, the source along col
    LoopNest outer; // the other loops
    int64_t tile_rows, row_tiles, col_tiles;
    const char * src;
    char * dst;
    RowMover mover;

    TransposedCopy(const LoopNest & nest, int k, const char * src_, char * dst_, const RowMover & mover_)
        : row(nest.loop[0]), col(nest.loop[k]), src(src_), dst(dst_), mover(mover_) {
        for (int i = 1; i < nest.count; ++i) {
            if (i != k) outer.add(nest.loop[i].n, nest.loop[i].src, nest.loop[i].dst);
        }
        if (outer.count == 0) outer.add(1, 0, 0);
        tile_rows = std::min<int64_t>(64, int64_t(kTileBytes / (kTileCols * mover.src_unit)));
        row_tiles = ceil_div(row.n, tile_rows);
        col_tiles = ceil_div(col.n, kTileCols);
    }

    int64_t tiles() const { return row_tiles * col_tiles * outer.total(); }

    void copy_tile(size_t src_offset, size_t dst_offset, int64_t tile) const {
        const int64_t r0 = tile % row_tiles * tile_rows, c0 = tile / row_tiles * kTileCols;
        const int64_t rows = std::min(tile_rows, row.n - r0), cols = std::min(kTileCols, col.n - c0);
        const char * from = src + src_offset + size_t(r0) * row.src + size_t(c0) * col.src;
        char * to = dst + dst_offset + size_t(r0) * row.dst + size_t(c0) * col.dst;
        alignas(64) char buffer[kTileBytes];
        const size_t stride = size_t(tile_rows) * mover.src_unit;
        transpose_tile(mover.src_unit, from, row.src, buffer, stride, rows, cols);
        for (int64_t c = 0; c < cols; ++c) {
            mover.move(buffer + size_t(c) * stride, mover.src_unit, to + size_t(c) * col.dst, mover.dst_unit,
                       rows);
        }
    }

    void run(const Team & team) const {
        const int64_t per_slice = row_tiles * col_tiles;
        team.parallel_for(tiles(), std::max<int64_t>(1, kParallelGrain / (tile_rows * kTileCols)),
                          [&](int64_t begin, int64_t end) {
                              for (int64_t t = begin; t < end; ++t) {
                                  const int64_t slice = t / per_slice;
                                  for_each_run(outer, slice, slice + 1, [&](size_t s, size_t d, int64_t) {
                                      copy_tile(s, d, t % per_slice);
                                  });
                              }
                          });
    }
};

// Shapes without common loops: both sides are stepped through in element order.
void copy_in_order(const Team & team, const Grid & src, const Grid & dst, const char * from, char * to,
                   const RowMover & mover) {
    int64_t total = 1;
    for (int i = 0; i < src.dims; ++i) total *= src.n[i];
    team.parallel_for(total, kParallelGrain, [&](int64_t begin, int64_t end) {
        GridCursor s(src, begin), d(dst, begin);
        for (int64_t left = end - begin; left > 0;) {
            const int64_t n = std::min({left, s.run(), d.run()});
            mover.move(from + s.offset(), s.stride(), to + d.offset(), d.stride(), n);
            s.advance(n);
            d.advance(n);
            left -= n;
        }
    });
}

bool is_small_float(ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

// Rows of blocks: a whole number of them, one after the other.
bool has_block_rows(const ggml_tensor * t) {
    const TypeInfo & info = type_info(t->type);
    return info.block > 0 && t->ne[0] % info.block == 0 && (info.block == 1 || t->nb[0] == info.bytes);
}

bool same_place(const ggml_tensor * a, const ggml_tensor * b) {
    return a->data == b->data && a->type == b->type && ggml_are_same_shape(a, b) &&
           ggml_are_same_stride(a, b);
}

} // namespace

bool can_copy(const ggml_tensor * src, const ggml_tensor * dst) {
    if (src == nullptr || ggml_nelements(src) != ggml_nelements(dst)) return false;
    if (!has_block_rows(src) || !has_block_rows(dst)) return false;
    if (src->type == dst->type) return true;
    const TypeInfo & s = type_info(src->type);
    const TypeInfo & d = type_info(dst->type);
    if (!s.quantized && !d.quantized) return true;
    if (s.quantized && s.to_float == nullptr) return false;
    if (d.quantized && d.from_float == nullptr) return false;
    if (s.quantized && d.quantized) return ggml_are_same_shape(src, dst);
    return is_small_float(s.quantized ? dst->type : src->type);
}

void copy_nest(const Team & team, LoopNest nest, const char * src, char * dst, const RowMover & mover) {
    nest.simplify();
    if (const int k = transposed_loop(nest, mover)) {
        TransposedCopy(nest, k, src, dst, mover).run(team);
        return;
    }
    const Loop inner = nest.loop[0];
    // Blocks count for their bytes: kParallelGrain is meant in simple elements.
    const int64_t grain =
        std::max<int64_t>(1, kParallelGrain / int64_t(ceil_div(int64_t(mover.src_unit), 8)));
    team.parallel_for(nest.total(), grain, [&](int64_t begin, int64_t end) {
        for_each_run(nest, begin, end, [&](size_t s, size_t d, int64_t n) {
            mover.move(src + s, inner.src, dst + d, inner.dst, n);
        });
    });
}

void copy_tensor(const Team & team, const ggml_tensor * src, ggml_tensor * dst) {
    if (ggml_is_empty(dst) || same_place(src, dst)) return;
    RowMover mover;
    if (!find_mover(src->type, dst->type, mover)) return copy_blocks(team, src, dst);
    const Grid from = make_grid(src), to = make_grid(dst);
    LoopNest nest;
    if (common_loops(from, to, nest)) {
        copy_nest(team, nest, row_at<char>(src, 0), row_at<char>(dst, 0), mover);
    } else {
        copy_in_order(team, from, to, row_at<char>(src, 0), row_at<char>(dst, 0), mover);
    }
}

ggml_tensor region_of(const ggml_tensor * whole, const ggml_tensor * part, const Strides & nb,
                      size_t offset) {
    ggml_tensor region = *whole;
    std::copy_n(part->ne, GGML_MAX_DIMS, region.ne);
    std::copy(nb.begin(), nb.end(), region.nb);
    region.data = static_cast<char *>(whole->data) + offset;
    return region;
}

} // namespace ggml::cpu
