// Pictures as files. Written to a temporary file first: a picture is there whole or not at all.
#pragma once

#include "stable-diffusion.h"

#include <string>

namespace cli {

// By the name's ending: .png, .jpg, .jpeg, .jpe, .webp, in any case. metadata: text for the file, "" for
// none. False with the reason in `error`.
bool write_image(const std::string & path, const sd_image_t & image, const std::string & metadata,
                 std::string & error);

// Whether the ending is one of those.
bool has_image_ending(const std::string & path);

} // namespace cli
