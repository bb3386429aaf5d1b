#include "pipeline/masked_pixels.h"

namespace sd {
namespace {

constexpr uint8_t kWhite = 128; // and above

// Where pixel (x, y) of `out` is in another picture.
size_t place(const Picture & other, const Picture & out, int x, int y) {
    const int64_t row = pixel_under(y, out.height, other.height) * other.width;
    return size_t((row + pixel_under(x, out.width, other.width)) * other.channels);
}

} // namespace

void keep_masked_pixels(const Picture & init, const Picture & mask, Picture & out) {
    size_t i = 0;
    for (int y = 0; y < out.height; ++y) {
        for (int x = 0; x < out.width; ++x, i += 3) {
            if (mask.pixels[place(mask, out, x, y)] >= kWhite) continue;
            const size_t from = place(init, out, x, y);
            for (size_t c = 0; c < 3; ++c) out.pixels[i + c] = init.pixels[from + c];
        }
    }
}

} // namespace sd
