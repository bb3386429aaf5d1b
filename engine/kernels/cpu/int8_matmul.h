// An INT8 product of any size on the thread team: which rows and columns are worked on together, by whom, in
// which memory. Operators say through Int8Source where codes and weights come from.
//
// Many rows: activations are packed into workspace, a block at a time; each thread packs a panel of weight
// rows and uses it for all rows of the block. Few rows, or K beyond exact 32-bit sums: dot products that read
// the weights once from where they lie. Results do not depend on the number of threads.
#pragma once

#include "ggml-ext.h"
#include "kernels/cpu/int8_gemm.h"

#include <cstddef>
#include <cstdint>

namespace sd {

// Callbacks run on all threads at once.
class Int8Source {
  public:
    virtual ~Int8Source() = default;

    // Codes of activation rows [first, first + count), K bytes apart, and their scales. They may be made in
    // `room`, count * K bytes and what the plan was told to add, 64-byte aligned.
    virtual const int8_t * rows(int64_t first, int count, void * room, float * scales) const = 0;

    // Weight rows [first, first + n) as Int8Gemm::pack_panel does it.
    virtual void pack_panel(uint8_t * panel, int64_t first, int n) const = 0;

    // Int8Gemm::dots with weight rows [first, first + n), columns [k0, k0 + k). k0 is a multiple of 65536.
    virtual void dots(int32_t * sums, int64_t sums_stride, int64_t first, int n, const void * rows,
                      size_t row_bytes, const int32_t * start, int m, int64_t k0, int64_t k) const = 0;
};

struct Int8Plan {
    const Int8Gemm * gemm;
    int64_t m, n, k;
    int n_threads;
    bool tiles;                                   // panels and tiles; otherwise dot products
    int64_t block_rows;                           // activation rows prepared at once
    size_t row_bytes;                             // of a prepared row
    size_t starts, scales, threads, thread_bytes; // places in the workspace; prepared rows come first
    size_t workspace_bytes;
};

// room_extra: what Int8Source::rows needs in its room besides codes.
Int8Plan int8_plan(const Int8Gemm & gemm, int64_t m, int64_t n, int64_t k, int n_threads, size_t room_extra);

struct Int8Result {
    float * y;             // [m][n]
    const float * w_scale; // [n]; NULL: left out
    const float * bias;    // [n]; NULL: left out
};

// What the thread team returns; GGML_STATUS_ABORTED between phases.
ggml_status int8_multiply(const Int8Plan & plan, const Int8Source & source, const Int8Result & result,
                          ggml_backend_t backend, void * workspace);

} // namespace sd
