// The specification of sd.sol_attn.v1, one head at a time in plain host memory. Tests use it, and kernels of
// devices are checked against it; no graph runs it.
//
// A query row with a NaN or an infinity has a NaN result and disturbs no other row: it is left out of what
// its block decides. One in a key makes every result of the head NaN; one in a value makes its element NaN in
// all of those, as in exact attention.
#pragma once

#include "ops/sol_attn/schema.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sd {

constexpr int64_t kSolBlock = 64;

// The operator is defined in F32. Kernels that multiply in BF16 round queries, keys, values, the summaries of
// blocks, probabilities and the result; rounding the summaries can move a block across the threshold, so such
// kernels are compared with `bf16`, which rounds in the same places.
enum class SolPrecision { f32, bf16 };

// Which blocks of keys were exact, for each block of queries of each head.
struct SolRouting {
    int64_t blocks = 0;         // in a head: as many of queries as of keys
    std::vector<uint8_t> exact; // [batch][head][query block][key block], 1 or 0

    int64_t count() const; // exact ones
    bool is_exact(int64_t head_of_all, int64_t query_block, int64_t key_block) const {
        return exact[static_cast<size_t>((head_of_all * blocks + query_block) * blocks + key_block)] != 0;
    }
};

// As sol_attn_reference, which is f32; *routing is filled when it is not NULL.
ggml_status sol_attn_compute(ggml_tensor * node, SolPrecision precision, SolRouting * routing);

} // namespace sd
