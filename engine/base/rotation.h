// The regular Hadamard rotation of ConvRot weights and activations, in plain C++. It is its own inverse.
#pragma once

#include <cstdint>

namespace sd {

// What rotates: a power of four, 1 (no rotation) to this.
constexpr int kMaxRotationGroup = 4096;
bool is_rotation_group(int64_t group);

// 1 / sqrt(group), a power of two.
inline float rotation_factor(int group) {
    float factor = 1.0f;
    for (int g = group; g > 1; g /= 4) factor *= 0.5f;
    return factor;
}

// y = rotate(x): each run of `group` of the k floats (k is a multiple of it) times the matrix, float32,
// multiplied by rotation_factor before the radix-4 stages. y may be x.
void rotate_scalar(const float * x, int64_t k, int group, float * y);

} // namespace sd
