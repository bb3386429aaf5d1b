// Numbers and layouts of the integer matrix product: what a quantized weight block looks like once it is
// opened, and how activation rows are stored. Pure data; every instruction set agrees on it.
//
// A weight of any type is  y = d * (u - offset) + m  with a small unsigned u; d and m are shared by a group
// of 32 or 16 elements. Types either have an offset (m = 0) or a minimum m (offset = 0). With an activation
// block x = a * q the product over a group is
//     a * d * (dot(u, q) - offset * sum(q))  +  m * a * sum(q)
// so the sums of q are kept beside q, and the dot product is unsigned times signed, as VPDPBUSD wants it.
#pragma once

#include "ggml.h"
#include "runtime/tensor/blocks.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::matmul {

template <ggml_type T>
struct QuantTraits;

// Groups: scales per 32 elements (1 or 2). Offset: subtracted from u. Minimum: m is present.
#define GGML_QUANT_TRAITS(type, block_type, block_elements, n_groups, off, min)                              \
    template <>                                                                                              \
    struct QuantTraits<type> {                                                                               \
        using Block = block_type;                                                                            \
        static constexpr int kElements = block_elements;                                                     \
        static constexpr int kGroups = n_groups;                                                             \
        static constexpr int kOffset = off;                                                                  \
        static constexpr bool kMinimum = min;                                                                \
    };
GGML_QUANT_TRAITS(GGML_TYPE_Q4_0, BlockQ4_0, kBlock, 1, 8, false)
GGML_QUANT_TRAITS(GGML_TYPE_Q4_1, BlockQ4_1, kBlock, 1, 0, true)
GGML_QUANT_TRAITS(GGML_TYPE_Q5_0, BlockQ5_0, kBlock, 1, 16, false)
GGML_QUANT_TRAITS(GGML_TYPE_Q5_1, BlockQ5_1, kBlock, 1, 0, true)
GGML_QUANT_TRAITS(GGML_TYPE_Q8_0, BlockQ8_0, kBlock, 1, 128, false)
GGML_QUANT_TRAITS(GGML_TYPE_Q2_K, BlockQ2_K, kSuperBlock, 2, 0, true)
GGML_QUANT_TRAITS(GGML_TYPE_Q3_K, BlockQ3_K, kSuperBlock, 2, 4, false)
GGML_QUANT_TRAITS(GGML_TYPE_Q4_K, BlockQ4_K, kSuperBlock, 1, 0, true)
GGML_QUANT_TRAITS(GGML_TYPE_Q5_K, BlockQ5_K, kSuperBlock, 1, 0, true)
GGML_QUANT_TRAITS(GGML_TYPE_Q6_K, BlockQ6_K, kSuperBlock, 2, 32, false)
#undef GGML_QUANT_TRAITS

// Position of a type in the kernel tables.
enum QuantIndex : int { kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kQuantTypes };

// X(type): every type with an integer product, in QuantIndex order.
#define GGML_FOR_EACH_QUANT(X) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q2_K) X(Q3_K) X(Q4_K) X(Q5_K) X(Q6_K)

// What a kernel needs to know about a type at run time.
struct QuantInfo {
    int index;    // QuantIndex, -1 when the type has no integer product
    int elements; // per stored block
    size_t bytes; // per stored block
    int groups, offset;
    bool minimum;
    int shared; // blocks of 32 activations with one scale
};

// Activation blocks that share a scale. One per super-block for the narrowest types: their weights are
// coarser than what activations lose by it, and their one-row product has no time for more conversions to
// float.
constexpr int shared_blocks(ggml_type type) {
    return type == GGML_TYPE_Q2_K || type == GGML_TYPE_Q3_K ? kSuperBlock / kBlock : 1;
}

constexpr QuantInfo quant_info(ggml_type type) {
    switch (type) {
#define GGML_QUANT_CASE(name)                                                                                \
    case GGML_TYPE_##name: {                                                                                 \
        using T = QuantTraits<GGML_TYPE_##name>;                                                             \
        return {k##name,    T::kElements, sizeof(T::Block),   T::kGroups,                                    \
                T::kOffset, T::kMinimum,  shared_blocks(type)};                                              \
    }
        GGML_FOR_EACH_QUANT(GGML_QUANT_CASE)
#undef GGML_QUANT_CASE
    default: return {-1, 0, 0, 0, 0, false, 1};
    }
}

// An activation block inside a tile: 32 values x = d * q, and per group of weights either the offset
// correction (integer: -offset * sum(q)) or the factor of the minimum (float: d * sum(q)). With one group
// only [0] is used.
struct ActBlock {
    int8_t q[kBlock];
    float d;
    union {
        int32_t correction[2];
        float sum[2];
    };
    int32_t unused;
};
static_assert(sizeof(ActBlock) == 48);

// Activation rows that share a tile of the blocked product; the last tile of a matrix may have fewer. A tile
// is stored [block][row], so one pointer walks all of its rows. Six rows times two vectors of results are the
// most that fit beside their operands in 32 registers.
inline constexpr int kTileRows = 6;

// Weight rows of a panel, and what a panel stores for 32 of their elements: u as [8][16 rows][4 elements],
// then d and (types with a minimum) m as [group][16 rows].
inline constexpr int kPanelRows = 16;
constexpr size_t panel_block_bytes(int groups, bool minimum) {
    return size_t(kPanelRows) * (kBlock + sizeof(float) * size_t(groups) * (minimum ? 2 : 1));
}

// An activation row for the one-row product: the same numbers, each in its own array. `sum` (d * sum(q)) is
// per 16 elements for types with two groups and per 32 for the others; `correction` is per 32. The others are
// for types with a scale per super-block, null for the rest: `half_sum` is the plain sums of q per 16
// elements, negative for types with an offset; `wide_q` has the blocks of 32 in the order 0 4 1 5 2 6 3 7;
// `wide_d` is d / 1024 per super-block, for kernels that carry scales as multiples of it.
struct ActRow {
    const int8_t * q;
    const float * d;
    const float * sum;
    const int32_t * correction;
    const int16_t * half_sum;
    const int8_t * wide_q;
    const float * wide_d;
};
constexpr size_t act_row_bytes(int64_t k) {
    // q and wide_q, d and wide_d (with room for one each 32), correction, sum, half_sum; rows of K types keep
    // every array but the last aligned to 32 bytes.
    return size_t(k / kBlock) * (2 * kBlock + 2 * sizeof(float) + sizeof(float) + sizeof(float) * 2 * 2);
}

// Blocks whose largest magnitude is below this are taken as zero: 127 / amax must be finite, and d must stay
// normal when it is scaled by powers of two.
inline constexpr float kTinyActivation = 1e-30f;

} // namespace ggml::cpu::matmul
