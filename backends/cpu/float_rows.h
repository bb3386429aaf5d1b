// Rows of any element type seen as floats, in blocks that stay in the first-level cache. Kernels written for
// contiguous floats use it to accept every type and stride: F32 rows without gaps are used in place,
// everything else goes through a small buffer. References use the single-element functions at the end.
#pragma once

#include "backends/cpu/convert.h"
#include "backends/cpu/team.h"
#include "runtime/base/half.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <cstring>
#include <initializer_list>

namespace ggml::cpu {

// Floats per block: three buffers of 4 KiB fit any first-level cache. A multiple of every quantized block
// size, so a block boundary never cuts a quantization block.
inline constexpr int64_t kRowBlock = 1024;

inline bool is_plain_float(ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

inline bool is_float_row(const ggml_tensor * t) {
    return t->type == GGML_TYPE_F32 && t->nb[0] == sizeof(float);
}

// One element as float and back; plain float types only.
float read_float(ggml_type type, const char * p);
void write_float(ggml_type type, char * p, float value);

// Elements [begin, begin + n) of the row at `row` as floats: the row itself, or a copy in `buffer` (n
// floats). For block-quantized types begin and n are multiples of the block and the row has no gaps.
const float * load_row(const ggml_tensor * t, const char * row, int64_t begin, int64_t n, float * buffer);

// Where to compute elements from `begin` on: in the row itself, or in `buffer`, which store_row then
// converts.
inline float * result_row(const ggml_tensor * t, char * row, int64_t begin, float * buffer) {
    return is_float_row(t) ? reinterpret_cast<float *>(row) + begin : buffer;
}
void store_row(const ggml_tensor * t, char * row, int64_t begin, int64_t n, const float * values);

// True when dimensions 0 and 1 lie in memory as one long row.
bool rows_touch(const ggml_tensor * t);

// Merges dimension 1 into dimension 0 of all tensors (copies of headers, equal shapes) for as long as none of
// them has a gap between rows: long rows instead of many short ones.
void fold_rows(std::initializer_list<ggml_tensor *> tensors);

// Drops dimension 1 from a header after its elements have been counted into dimension 0.
inline void drop_dim1(ggml_tensor * t, int64_t ne0) {
    t->ne[0] = ne0;
    t->ne[1] = t->ne[2];
    t->nb[1] = t->nb[2];
    t->ne[2] = t->ne[3];
    t->nb[2] = t->nb[3];
    t->ne[3] = 1;
}

// Steps to the next row of t, dimension 1 fastest.
inline void next_row(const ggml_tensor * t, RowIndex & r) {
    if (++r.i1 < t->ne[1]) return;
    r.i1 = 0;
    if (++r.i2 < t->ne[2]) return;
    r.i2 = 0;
    ++r.i3;
}

// fn(RowIndex, begin, n) for every block of every row of t, spread over the team. Each block is visited once,
// by one thread, so results that depend on their own block only are the same for every thread count.
template <class Fn>
void for_each_block(const Team & team, const ggml_tensor * t, Fn && fn) {
    const int64_t n0 = t->ne[0];
    const int64_t per_row = (n0 + kRowBlock - 1) / kRowBlock;
    const int64_t work = n0 < kRowBlock ? n0 + 32 : kRowBlock; // a row costs about as much as 32 elements
    team.parallel_for(per_row * ggml_nrows(t), kParallelGrain / work + 1, [&](int64_t first, int64_t last) {
        RowIndex r = row_index(t, first / per_row);
        int64_t block = first % per_row;
        for (int64_t i = first; i < last; ++i) {
            const int64_t begin = block * kRowBlock;
            fn(r, begin, n0 - begin < kRowBlock ? n0 - begin : kRowBlock);
            if (++block == per_row) {
                block = 0;
                next_row(t, r);
            }
        }
    });
}

} // namespace ggml::cpu
