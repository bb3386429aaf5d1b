#include "apps/cli/image/contact_sheet.h"

#include <algorithm>

namespace cli {
namespace {

constexpr uint64_t kGap = 8;

} // namespace

size_t ContactSheet::columns_of(size_t count) {
    size_t columns = 1;
    while (columns * columns < count) ++columns;
    return columns;
}

uint64_t ContactSheet::width_of(uint32_t width, size_t count) {
    return columns_of(count) * (width + kGap) - kGap;
}

uint64_t ContactSheet::height_of(uint32_t height, size_t count) {
    const size_t columns = columns_of(count);
    return (count + columns - 1) / columns * (height + kGap) - kGap;
}

ContactSheet::ContactSheet(uint32_t width, uint32_t height, size_t count)
    : width_(width), height_(height), columns_(columns_of(count)) {
    constexpr uint8_t kWhite = 255;
    sheet_.width = uint32_t(width_of(width, count));
    sheet_.height = uint32_t(height_of(height, count));
    sheet_.channels = 3;
    sheet_.pixels.assign(size_t(sheet_.width) * sheet_.height * 3, kWhite);
}

void ContactSheet::put(size_t index, const sd_image_t & picture) {
    const size_t left = index % columns_ * (width_ + kGap), top = index / columns_ * (height_ + kGap);
    const size_t row = size_t(width_) * 3;
    for (size_t y = 0; y < height_; ++y)
        std::copy_n(picture.data + y * row, row,
                    sheet_.pixels.data() + ((top + y) * sheet_.width + left) * 3);
}

} // namespace cli
