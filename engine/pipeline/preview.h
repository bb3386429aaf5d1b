// A latent as a small picture: one pixel for each of its own, by a linear fit of colors. Costs nothing beside
// a step.
#pragma once

#include "pipeline/request.h"

namespace sd {

// latent: normalized, [16][height][width].
Picture preview_of(const float * latent, int64_t height, int64_t width);

} // namespace sd
