// Attention for few queries (decoding): K and V are read once, from where they lie and in their own type, at
// the speed of memory. A chunk of keys gives a partial result; partial results are merged in order of the
// keys, so that neither the thread count nor the schedule shows in the result.
#pragma once

#include "backends/cpu/kernels/attention/tile.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::attention {

inline constexpr int kFewQueries = 8;

enum class RowType { f32, f16, bf16 };

// Keys [first, first + count) of one K/V head. Strides in bytes; k and v point at key `first`.
struct KeyChunk {
    RowType k_type, v_type;
    const char *k, *v;
    size_t k_stride, v_stride;
    int64_t first, count;
};

// What a chunk contributes, per query: softmax maximum, sum of weights, and dv weighted sums of values.
struct Partial {
    float *max, *sum; // [query]
    float * out;      // [query][dv]
};

// Scores of one query are this far apart: whole vectors, whatever their length.
inline int64_t score_stride(int64_t count) { return (count + 15) / 16 * 16; }

// Room for kFewQueries * score_stride(count) scores and count key numbers.
struct FewScratch {
    float * scores;
    int32_t * keys;
};

void few_chunk(const Params & p, const Query * queries, int n, const KeyChunk & chunk,
               const FewScratch & scratch, const Partial & result);

// Partial results side by side in one piece of memory.
struct Partials {
    float * data;
    int n_queries;
    int64_t dv;

    static int64_t floats(int n_queries, int64_t dv) { return n_queries * (2 + dv); }
    Partial operator[](int64_t i) const {
        float * at = data + i * floats(n_queries, dv);
        return {at, at + n_queries, at + 2 * n_queries};
    }
};

// Combines partials [first, first + count) in order and writes one query's row.
void merge_partials(const Params & p, const Query & query, int index, const Partials & partials,
                    int64_t first, int64_t count);

} // namespace ggml::cpu::attention
