// A product of any size with the pieces of book_gemm.h on the thread team. Activations become floats in
// workspace, a block of rows at a time. Many rows: each thread makes a panel of weight rows, one piece of K
// after the other, and uses it for all rows of the block. Few rows: dot products that read the weights once
// from where they lie. Results do not depend on the number of threads.
#pragma once

#include "ggml-ext.h"
#include "kernels/cpu/book_gemm.h"

namespace sd {

struct BookPlan {
    const BookGemm * gemm;
    int64_t m, n, k;
    int n_threads;
    bool tiles;                   // panels and tiles; otherwise dot products
    int64_t block_rows;           // activation rows prepared at once
    int64_t row_floats;           // of a prepared row
    size_t threads, thread_bytes; // places in the workspace; prepared rows come first
    size_t workspace_bytes;
};

BookPlan book_plan(const BookGemm & gemm, int64_t m, int64_t n, int64_t k, int n_threads);

struct BookOperands {
    BookWeights weights;
    const float * w_scale; // [n]
    const float * bias;    // [n]; NULL: none
    const int8_t * codes;  // [m][k]
    const float * x_scale; // [m]
    float * y;             // [m][n]
};

// What the thread team returns; GGML_STATUS_ABORTED between phases.
ggml_status book_multiply(const BookPlan & plan, const BookOperands & operands, ggml_backend_t backend,
                          void * workspace);

} // namespace sd
