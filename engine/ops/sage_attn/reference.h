// The specification of sd.sage_attn.v1: which values are rounded where, one head at a time in plain host
// memory. Tests use it, and kernels of devices are checked against it; no graph runs it.
//
// Kernels may round more where hardware does (the result to F16, sums of a block in the accumulator of an
// instruction) and so agree to a tolerance, not bit for bit.
//
// A query row with a NaN or an infinity has a NaN result and disturbs no other row. One in a key makes every
// result NaN that reads the head; one in a value makes its element NaN in all of those, as in exact
// attention.
#pragma once

#include "ops/sage_attn/quantize.h"
#include "ops/sage_attn/schema.h"

namespace sd {

struct SageRecipe {
    SageScales scales;
    SageValues values;
    bool smooth_keys = true; // subtract the mean of the head's keys: softmax does not change
    // Subtract the mean of each 128 queries and add its exact product with the keys to the logits. What INT4
    // products need; no mode of the operator does it.
    bool smooth_queries = false;
};

// AUTO stands for the algorithm every device with the operator has: INT8, scales per warp, values in F16.
SageRecipe sage_recipe(int mode);

// As sage_attn_reference, with a recipe of the caller's.
ggml_status sage_attn_compute(ggml_tensor * node, const SageRecipe & recipe);

} // namespace sd
