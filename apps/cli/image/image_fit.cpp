#include "apps/cli/image/image_fit.h"

#include <algorithm>

namespace cli {
namespace {

bool has_alpha(const Image & image) { return image.channels == 2 || image.channels == 4; }

Image empty_like(const Image & image, uint32_t channels) {
    Image out = {image.width, image.height, channels, {}, image.text};
    out.pixels.resize(size_t(image.width) * image.height * channels);
    return out;
}

// (value * alpha + ground * (255 - alpha)) / 255, rounded.
uint8_t over(unsigned value, unsigned ground, unsigned alpha) {
    return uint8_t((value * alpha + ground * (255 - alpha) + 127) / 255);
}

// What pixel `to` of `n_to` covers of `n_from` pixels, in parts of which a source pixel has n_to.
struct Cover {
    uint32_t first, last;
    uint64_t begin, end;

    Cover(uint64_t to, uint64_t n_from, uint64_t n_to)
        : first(uint32_t(to * n_from / n_to)), last(uint32_t(((to + 1) * n_from - 1) / n_to)),
          begin(to * n_from), end((to + 1) * n_from) {}

    uint64_t weight(uint64_t from, uint64_t n_to) const {
        return std::min((from + 1) * n_to, end) - std::max(from * n_to, begin);
    }
};

} // namespace

bool is_transparent(const Image & image) {
    if (!has_alpha(image)) return false;
    for (size_t i = image.channels - 1; i < image.pixels.size(); i += image.channels) {
        if (image.pixels[i] != 255) return true;
    }
    return false;
}

Image to_rgb(const Image & image) {
    if (image.channels == 3) return image;
    Image out = empty_like(image, 3);
    const bool alpha = has_alpha(image);
    for (size_t i = 0; i < out.pixels.size() / 3; ++i) {
        const uint8_t * p = image.pixels.data() + i * image.channels;
        for (size_t c = 0; c < 3; ++c) {
            const uint8_t value = p[image.channels >= 3 ? c : 0];
            out.pixels[3 * i + c] = alpha ? over(value, 255, p[image.channels - 1]) : value;
        }
    }
    return out;
}

Image to_gray(const Image & image) {
    if (image.channels == 1) return image;
    Image out = empty_like(image, 1);
    const bool alpha = has_alpha(image);
    for (size_t i = 0; i < out.pixels.size(); ++i) {
        const uint8_t * p = image.pixels.data() + i * image.channels;
        const unsigned luma =
            image.channels >= 3 ? (299u * p[0] + 587u * p[1] + 114u * p[2] + 500u) / 1000u : p[0];
        out.pixels[i] = alpha ? over(luma, 0, p[image.channels - 1]) : uint8_t(luma);
    }
    return out;
}

Image cropped_to_aspect(const Image & image, uint32_t width, uint32_t height) {
    uint64_t w = image.width, h = image.height;
    if (w * height > h * width)
        w = std::max<uint64_t>(1, h * width / height);
    else
        h = std::max<uint64_t>(1, w * height / width);
    Image out = {uint32_t(w), uint32_t(h), image.channels, {}, image.text};
    out.pixels.reserve(size_t(w * h * image.channels));
    const uint64_t left = (image.width - w) / 2, top = (image.height - h) / 2;
    for (uint64_t y = 0; y < h; ++y) {
        const uint8_t * row = image.pixels.data() + ((top + y) * image.width + left) * image.channels;
        out.pixels.insert(out.pixels.end(), row, row + w * image.channels);
    }
    return out;
}

Image resized(const Image & image, uint32_t width, uint32_t height) {
    if (image.width == width && image.height == height) return image;
    Image out = {width, height, image.channels, {}, image.text};
    out.pixels.resize(size_t(width) * height * image.channels);
    // Weights of a pixel add up to the source's width times its height, at most 2^28: sums fit.
    const uint64_t total = uint64_t(image.width) * image.height;
    const size_t channels = image.channels, row_length = image.width * channels;
    std::vector<uint64_t> row(row_length);
    for (uint32_t y = 0; y < height; ++y) {
        std::fill(row.begin(), row.end(), 0);
        const Cover rows(y, image.height, height);
        for (uint32_t from = rows.first; from <= rows.last; ++from) {
            const uint64_t weight = rows.weight(from, height);
            const uint8_t * p = image.pixels.data() + from * row_length;
            for (size_t i = 0; i < row_length; ++i) row[i] += weight * p[i];
        }
        for (uint32_t x = 0; x < width; ++x) {
            const Cover columns(x, image.width, width);
            for (size_t c = 0; c < channels; ++c) {
                uint64_t sum = 0;
                for (uint32_t from = columns.first; from <= columns.last; ++from)
                    sum += columns.weight(from, width) * row[from * channels + c];
                out.pixels[(size_t(y) * width + x) * channels + c] = uint8_t((sum + total / 2) / total);
            }
        }
    }
    return out;
}

} // namespace cli
