// What Krea 2's graph reads, made from latents, sizes and times on the host.
#pragma once

#include "models/krea2/config.h"

#include <cstdint>
#include <vector>

namespace sd {

// Patches of 2 by 2 along a side; odd sides are padded at the end.
inline int64_t krea2_patches(int64_t size) { return (size + 1) / 2; }

// latent: [channels][height][width]. Tokens in rows of the picture, [patch][channel * 4 + row * 2 + column];
// what is beyond the latent is 0.
void krea2_patchify(const float * latent, int64_t channels, int64_t height, int64_t width, float * patches);

// The inverse; what is beyond the latent is dropped.
void krea2_unpatchify(const float * patches, int64_t channels, int64_t height, int64_t width, float * latent);

// Cosines, then sines, of 1000 * t at `dim` / 2 frequencies from 1 down to nearly 1 / 10000.
std::vector<float> krea2_timestep(float t, int64_t dim);

// Rotations of text tokens (none) and patches (by row and column), [tokens][head_dim / 2][cos, -sin, sin,
// cos].
std::vector<float> krea2_rope(const Krea2Config & config, int64_t text_tokens, int64_t rows, int64_t columns);

} // namespace sd
