#include "apps/cli/image/contact_sheet.h"

#include <algorithm>

namespace cli {
namespace {

constexpr uint64_t kGap = 8;

} // namespace

SheetPlan SheetPlan::of(size_t batches, size_t pictures_of_a_batch) {
    const size_t count = batches * pictures_of_a_batch;
    if (batches > 1 && pictures_of_a_batch > 1) return {count, pictures_of_a_batch};
    size_t columns = 1;
    while (columns * columns < count) ++columns;
    return {count, columns};
}

uint64_t SheetPlan::width(uint32_t picture) const { return columns * (picture + kGap) - kGap; }

uint64_t SheetPlan::height(uint32_t picture) const {
    return (count + columns - 1) / columns * (picture + kGap) - kGap;
}

ContactSheet::ContactSheet(uint32_t width, uint32_t height, const SheetPlan & plan)
    : width_(width), height_(height), plan_(plan) {
    constexpr uint8_t kWhite = 255;
    sheet_.width = uint32_t(plan.width(width));
    sheet_.height = uint32_t(plan.height(height));
    sheet_.channels = 3;
    sheet_.pixels.assign(size_t(sheet_.width) * sheet_.height * 3, kWhite);
}

void ContactSheet::put(size_t index, const sd_image_t & picture) {
    const size_t left = index % plan_.columns * (width_ + kGap),
                 top = index / plan_.columns * (height_ + kGap);
    const size_t row = size_t(width_) * 3;
    for (size_t y = 0; y < height_; ++y)
        std::copy_n(picture.data + y * row, row,
                    sheet_.pixels.data() + ((top + y) * sheet_.width + left) * 3);
}

} // namespace cli
