// Copies that quantize, dequantize, or both. Rows are cut into pieces that are whole blocks of every type and
// fit into a buffer on the stack.
#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "runtime/base/math.h"
#include "runtime/tensor/types.h"

#include <algorithm>

namespace ggml::cpu {
namespace {

constexpr int64_t kPiece = 1024;

// Calls fn(row, first, n) for the pieces of all rows of t, in parallel; elements [first, first + n) of a row.
template <class Fn>
void for_each_piece(const Team & team, const ggml_tensor * t, Fn && fn) {
    const int64_t per_row = ceil_div(t->ne[0], kPiece);
    // Codecs cost several times a plain move, hence the small grain.
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / 4 / std::min(t->ne[0], kPiece));
    team.parallel_for(per_row * ggml_nrows(t), grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % per_row * kPiece;
            fn(i / per_row, first, std::min(kPiece, t->ne[0] - first));
        }
    });
}

size_t piece_offset(const ggml_tensor * t, int64_t row, int64_t first) {
    return row_offset(t, row_index(t, row)) + size_t(first / type_info(t->type).block) * t->nb[0];
}

// Address of n consecutive floats of a grid, or null when they are not contiguous F32 values.
template <class Pointer>
Pointer direct_floats(const GridCursor & at, Pointer base, ggml_type type, int64_t n) {
    const bool direct = type == GGML_TYPE_F32 && at.run() >= n && at.stride() == sizeof(float);
    return direct ? base + at.offset() : nullptr;
}

void dequantize(const Team & team, const ggml_tensor * src, ggml_tensor * dst) {
    const ToFloat to_float = type_info(src->type).to_float;
    const RowConvert convert = row_converter(GGML_TYPE_F32, dst->type);
    const Grid grid = make_grid(dst);
    char * base = row_at<char>(dst, 0);
    for_each_piece(team, src, [&](int64_t row, int64_t first, int64_t n) {
        const char * blocks = row_at<char>(src, piece_offset(src, row, first));
        GridCursor at(grid, row * src->ne[0] + first);
        if (char * direct = direct_floats(at, base, dst->type, n)) {
            to_float(blocks, reinterpret_cast<float *>(direct), n);
            return;
        }
        float piece[kPiece];
        to_float(blocks, piece, n);
        for (int64_t i = 0; i < n;) {
            const int64_t run = std::min(n - i, at.run());
            convert(reinterpret_cast<const char *>(piece + i), sizeof(float), base + at.offset(), at.stride(),
                    run);
            at.advance(run);
            i += run;
        }
    });
}

void quantize(const Team & team, const ggml_tensor * src, ggml_tensor * dst) {
    const FromFloat from_float = type_info(dst->type).from_float;
    const RowConvert convert = row_converter(src->type, GGML_TYPE_F32);
    const Grid grid = make_grid(src);
    const char * base = row_at<char>(src, 0);
    for_each_piece(team, dst, [&](int64_t row, int64_t first, int64_t n) {
        char * blocks = row_at<char>(dst, piece_offset(dst, row, first));
        GridCursor at(grid, row * dst->ne[0] + first);
        if (const char * direct = direct_floats(at, base, src->type, n)) {
            from_float(reinterpret_cast<const float *>(direct), blocks, n);
            return;
        }
        float piece[kPiece];
        for (int64_t i = 0; i < n;) {
            const int64_t run = std::min(n - i, at.run());
            convert(base + at.offset(), at.stride(), reinterpret_cast<char *>(piece + i), sizeof(float), run);
            at.advance(run);
            i += run;
        }
        from_float(piece, blocks, n);
    });
}

void requantize(const Team & team, const ggml_tensor * src, ggml_tensor * dst) {
    for_each_piece(team, dst, [&](int64_t row, int64_t first, int64_t n) {
        float piece[kPiece];
        type_info(src->type).to_float(row_at<char>(src, piece_offset(src, row, first)), piece, n);
        type_info(dst->type).from_float(piece, row_at<char>(dst, piece_offset(dst, row, first)), n);
    });
}

} // namespace

void copy_blocks(const Team & team, const ggml_tensor * src, ggml_tensor * dst) {
    if (!type_info(src->type).quantized) {
        quantize(team, src, dst);
    } else if (!type_info(dst->type).quantized) {
        dequantize(team, src, dst);
    } else {
        requantize(team, src, dst);
    }
}

} // namespace ggml::cpu
