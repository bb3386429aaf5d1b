// Many pictures of one size in one: in rows, with white between them.
#pragma once

#include "apps/cli/image/image.h"
#include "stable-diffusion.h"

#include <cstddef>

namespace cli {

// As wide as high, or one column wider.
class ContactSheet {
  public:
    ContactSheet(uint32_t width, uint32_t height, size_t count); // of a picture, and how many: at least one
    void put(size_t index, const sd_image_t & picture);          // RGB of this size; index below count
    const Image & image() const { return sheet_; }

    static size_t columns_of(size_t count);
    static uint64_t width_of(uint32_t width, size_t count);
    static uint64_t height_of(uint32_t height, size_t count);

  private:
    uint32_t width_, height_;
    size_t columns_;
    Image sheet_;
};

} // namespace cli
