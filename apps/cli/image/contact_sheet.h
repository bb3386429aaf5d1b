// Many pictures of one size in one: in rows, with white between them.
#pragma once

#include "apps/cli/image/image.h"
#include "stable-diffusion.h"

#include <cstddef>

namespace cli {

// How many pictures, and how they lie: at least one of each.
struct SheetPlan {
    size_t count, columns;

    // A row for each of several batches; otherwise as many columns as rows, or one more.
    static SheetPlan of(size_t batches, size_t pictures_of_a_batch);
    // Of the sheet, from those of a picture.
    uint64_t width(uint32_t picture) const;
    uint64_t height(uint32_t picture) const;
};

class ContactSheet {
  public:
    ContactSheet(uint32_t width, uint32_t height, const SheetPlan & plan); // of a picture
    void put(size_t index, const sd_image_t & picture); // RGB of this size; index below the plan's count
    const Image & image() const { return sheet_; }

  private:
    uint32_t width_, height_;
    SheetPlan plan_;
    Image sheet_;
};

} // namespace cli
