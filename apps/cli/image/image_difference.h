// How far two pictures of one size are apart, in numbers and to look at.
#pragma once

#include "apps/cli/image/image.h"

#include <vector>

namespace cli {

// Mean of squared differences of all channels, in units of 1/255. Both have the same size and channels.
double mean_squared_error(const Image & a, const Image & b);

// In decibels, of pictures with this error; infinite for 0.
double psnr_of(double mean_squared_error);

// Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004): Gaussian windows of 11 pixels, deviation 1.5,
// that lie within the picture, each channel by itself; the mean of all. Smaller windows for smaller pictures.
double ssim(const Image & a, const Image & b);

// Rows of a picture, another, and four times their difference, from the top.
class ComparisonSheet {
  public:
    ComparisonSheet(uint32_t width, uint32_t height, size_t rows); // of a picture, and how many
    void add(size_t row, const Image & a, const Image & b);        // RGB
    const Image & image() const { return sheet_; }

    static uint32_t width_of(uint32_t width) { return 3 * width + 2 * kGap; }
    static uint64_t height_of(uint32_t height, size_t rows) {
        return uint64_t(height) * rows + kGap * (rows - 1);
    }

  private:
    static constexpr uint32_t kGap = 8;
    void put(size_t row, uint32_t column, const Image & image);

    uint32_t width_, height_;
    Image sheet_;
};

} // namespace cli
