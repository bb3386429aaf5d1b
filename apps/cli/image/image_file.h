// Pictures as files: PNG, JPEG and WebP. Files to read are from strangers: whatever their bytes are, the
// answer is a picture or a reason.
#pragma once

#include "apps/cli/image/image.h"
#include "stable-diffusion.h"

#include <string>

namespace cli {

// What the file is, its first bytes say. False with "FILE: cause" in `error`.
bool read_image(const std::string & path, Image & image, std::string & error);

// By the name's ending: .png, .jpg, .jpeg, .jpe, .webp, in any case. image: 1 or 3 channels; WebP: 3. text:
// generation data, valid UTF-8; "": none. The file is there whole or not at all (atomic_file.h). False with
// "FILE: cause" in `error`.
bool write_image(const std::string & path, const sd_image_t & image, const std::string & text,
                 std::string & error);

// Before hours of work: whether a picture of this size could be written there now. Makes missing folders.
bool can_write_image(const std::string & path, uint32_t width, uint32_t height, std::string & error);

// The name, with ".png" after it if its ending is none of those.
std::string with_image_ending(const std::string & path);

} // namespace cli
