// The parts of the integer matrix product that exist once per instruction set. A set is a table of functions;
// all sets compute the same integers, and differ only in the order in which a row's float terms are summed.
#pragma once

#include "backends/cpu/kernels/matmul/quant_format.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::matmul {

// One tile of results: `rows` activation rows times two panels (32 weight rows) over `blocks` blocks of 32.
struct TileArgs {
    const uint8_t * panel; // two panels, panel_stride apart
    size_t panel_stride;
    const ActBlock * acts; // [blocks][rows]
    int64_t blocks;
    float * out[kTileRows]; // 32 results per row
    bool accumulate;        // add to out instead of overwriting it
};
using TileFn = void (*)(const TileArgs & args);

// Opens blocks [first, last) (of 32 elements; multiples of a stored block) of 16 weight rows into a panel.
// `rows` are the starts of the stored rows; entries may repeat.
using PackFn = void (*)(const void * const * rows, int64_t first, int64_t last, uint8_t * panel);

// Products of `n` stored weight rows, `stride` bytes apart, with one activation row of `blocks` blocks of 32.
// Rows come in numbers so that what is constant is set up once for all of them.
using DotFn = void (*)(const void * rows, size_t stride, int64_t n, const ActRow & act, int64_t blocks,
                       float * y);

// Quantizes `blocks` blocks of 32 floats into out[0], out[stride], ..., every `shared` of them (which divides
// `blocks`) with one scale; correction[] receives the plain sums of the two halves of q, for finish_act_block
// to turn into what the weight type needs.
using QuantizeFn = void (*)(const float * x, int64_t blocks, int shared, ActBlock * out, int64_t stride);

struct QuantKernels {
    const char * name;
    // Q8_0's u is 0..255. Kernels built on 16-bit pair sums cannot take it and use the signed weights
    // instead; they ask for corrections with offset 0 for that type.
    bool q8_0_is_signed;
    TileFn tile[2][2][kTileRows + 1]; // [groups - 1][minimum][rows], rows >= 1
    TileFn tile_q8_0[kTileRows + 1];  // null: use tile
    PackFn pack[kQuantTypes];
    DotFn dot[kQuantTypes];
    QuantizeFn quantize;
};

// The fastest set that the allowed features (cpu_features()) permit.
const QuantKernels & quant_kernels();

const QuantKernels & quant_kernels_portable();
const QuantKernels & quant_kernels_avx2();
const QuantKernels & quant_kernels_avxvnni();
const QuantKernels & quant_kernels_avx512vnni();
const QuantKernels & quant_kernels_dotprod();

} // namespace ggml::cpu::matmul
