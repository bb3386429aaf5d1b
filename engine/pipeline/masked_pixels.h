// What a mask keeps of the initial picture.
#pragma once

#include "pipeline/request.h"

namespace sd {

// Where the mask is below 128, the pixels of `out`, three channels, become those of `init`. The latent image
// keeps that part, too, but on its way through the VAE it changes a little. Sizes may differ: see
// pixel_under.
void keep_masked_pixels(const Picture & init, const Picture & mask, Picture & out);

} // namespace sd
