// Input pictures as the engine wants them: so many channels, this size. Exact: integer arithmetic throughout.
#pragma once

#include "apps/cli/image/image.h"

namespace cli {

// Gray becomes three equal channels; what is transparent is shown on white, as on paper.
Image to_rgb(const Image & image);

// One channel: the luma of colors (BT.601); what is transparent is black, which for a mask means: keep.
Image to_gray(const Image & image);

// Whether some pixel is not wholly opaque.
bool is_transparent(const Image & image);

// The largest part in the middle that has the aspect ratio of width : height, at least a pixel a side.
Image cropped_to_aspect(const Image & image, uint32_t width, uint32_t height);

// Each pixel of the result is the mean of the area it covers (a box filter). Sizes from 1 to 16384.
Image resized(const Image & image, uint32_t width, uint32_t height);

} // namespace cli
