// The two inner loops of a rotation on the CPU, and the walk over tokens and heads around them.
//
// A token's rotations are the same for all its heads and lie four numbers a pair in pe. They are first sorted
// into the order of a row: y[i] = x[i] * own[i] + x[partner of i] * other[i]. With m the matrix of pair (a,
// b), own is m[0][0] at a, m[1][1] at b, and other is m[0][1] at a, m[1][0] at b. Sums of two products do not
// depend on their order, so these are the bits of the reference.
#pragma once

#include "ggml-ext.h"
#include "ops/common/rows.h"

#include <cstdint>

namespace sd {

// pe of one token; steps in floats.
struct RotationSource {
    const float * pe;
    int64_t column, row, pair;
};

struct Rotations {
    int64_t pairs;
    bool interleaved;
    float * own;   // [2 * pairs]
    float * other; // [2 * pairs]
};

struct RopeRow {
    const float * x;
    int64_t x_step;
    float * y; // x itself, or nothing that is read
    int64_t n;
};

using LoadRotations = void (*)(const RotationSource & source, const Rotations & rotations);
using RotateRow = void (*)(const RopeRow & row, const Rotations & rotations);

// Of the pairs from `first` on.
void load_some_rotations(const RotationSource & source, const Rotations & rotations, int64_t first);
void load_rotations_scalar(const RotationSource & source, const Rotations & rotations);
void load_rotations_simd(const RotationSource & source, const Rotations & rotations);
void rotate_row_scalar(const RopeRow & row, const Rotations & rotations);
void rotate_row_simd(const RopeRow & row, const Rotations & rotations); // x_step is 0 or 1

// y = RoPE((x * s) * weight), s = 1 / sqrt(mean of x^2 + eps), rounded as the three nodes round. x_step is 0
// or 1.
void norm_rotate_row_simd(const RopeRow & row, const float * weight, float eps, const Rotations & rotations);

// What rope nodes and fusions that end in one have in common: x is where rows are read, rope the node whose
// table and result count.
struct RopeWalk {
    const ggml_tensor * x;
    const ggml_tensor * rope;
    LoadRotations load;
    void (*row)(const RopeWalk & walk, const RopeRow & row, const Rotations & rotations);
    // For use by `row`.
    RotateRow rotate;
    const float * weight;
    float eps;
};

// prepare and destroy of every kernel that calls run_rope, and what its execute does.
ggml_status prepare_rope(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *);
void destroy_rope(void * state, void *);
ggml_status run_rope(const ggml_ext_execute_params & params, const void * state, const RopeWalk & walk);

// RMS_NORM -> MUL by a vector -> rope_apply as one step.
ggml_ext_status register_rms_norm_mul_rope(ggml_backend_dev_t device, ggml_ext_op_t rope_apply,
                                           const char * name);

} // namespace sd
