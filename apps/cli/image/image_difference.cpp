#include "apps/cli/image/image_difference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cli {
namespace {

constexpr double kLargest = 255.0;

// Values of one channel, or sums of windows.
struct Plane {
    size_t width, height;
    std::vector<double> values;
};

std::vector<double> window_of(size_t length) {
    constexpr double kDeviation = 1.5;
    std::vector<double> window(length);
    double sum = 0;
    for (size_t i = 0; i < length; ++i) {
        const double distance = (double(i) - double(length - 1) / 2) / kDeviation;
        sum += window[i] = std::exp(-distance * distance / 2);
    }
    for (double & w : window) w /= sum;
    return window;
}

// Means over windows that lie within the plane; the window is the product of two.
Plane means(const Plane & p, const std::vector<double> & across, const std::vector<double> & down) {
    Plane rows = {p.width - across.size() + 1, p.height, {}};
    for (size_t y = 0; y < rows.height; ++y) {
        for (size_t x = 0; x < rows.width; ++x) {
            double sum = 0;
            for (size_t i = 0; i < across.size(); ++i) sum += across[i] * p.values[y * p.width + x + i];
            rows.values.push_back(sum);
        }
    }
    Plane out = {rows.width, p.height - down.size() + 1, {}};
    for (size_t y = 0; y < out.height; ++y) {
        for (size_t x = 0; x < out.width; ++x) {
            double sum = 0;
            for (size_t i = 0; i < down.size(); ++i) sum += down[i] * rows.values[(y + i) * rows.width + x];
            out.values.push_back(sum);
        }
    }
    return out;
}

Plane product(const Image & a, const Image & b, uint32_t channel, bool of_a, bool of_b) {
    Plane out = {a.width, a.height, {}};
    for (size_t i = channel; i < a.pixels.size(); i += a.channels)
        out.values.push_back((of_a ? double(a.pixels[i]) : 1.0) * (of_b ? double(b.pixels[i]) : 1.0));
    return out;
}

double channel_ssim(const Image & a, const Image & b, uint32_t channel) {
    constexpr size_t kWindow = 11;
    constexpr double kC1 = (0.01 * kLargest) * (0.01 * kLargest), kC2 = (0.03 * kLargest) * (0.03 * kLargest);
    const auto across = window_of(std::min<size_t>(kWindow, a.width));
    const auto down = window_of(std::min<size_t>(kWindow, a.height));
    const auto mean = [&](const Plane & p) { return means(p, across, down).values; };
    const auto ma = mean(product(a, a, channel, true, false)), mb = mean(product(b, b, channel, true, false));
    const auto aa = mean(product(a, a, channel, true, true)), bb = mean(product(b, b, channel, true, true));
    const auto ab = mean(product(a, b, channel, true, true));
    double sum = 0;
    for (size_t i = 0; i < ma.size(); ++i) {
        const double va = aa[i] - ma[i] * ma[i], vb = bb[i] - mb[i] * mb[i], cov = ab[i] - ma[i] * mb[i];
        sum += (2 * ma[i] * mb[i] + kC1) * (2 * cov + kC2) /
               ((ma[i] * ma[i] + mb[i] * mb[i] + kC1) * (va + vb + kC2));
    }
    return sum / double(ma.size());
}

} // namespace

double mean_squared_error(const Image & a, const Image & b) {
    uint64_t sum = 0;
    for (size_t i = 0; i < a.pixels.size(); ++i) {
        const int difference = int(a.pixels[i]) - int(b.pixels[i]);
        sum += uint64_t(difference * difference);
    }
    return double(sum) / double(a.pixels.size());
}

double psnr_of(double error) { return error == 0 ? INFINITY : 10 * std::log10(kLargest * kLargest / error); }

double ssim(const Image & a, const Image & b) {
    double sum = 0;
    for (uint32_t channel = 0; channel < a.channels; ++channel) sum += channel_ssim(a, b, channel);
    return sum / double(a.channels);
}

ComparisonSheet::ComparisonSheet(uint32_t width, uint32_t height, size_t rows)
    : width_(width), height_(height) {
    constexpr uint8_t kBackground = 128;
    sheet_.width = width_of(width);
    sheet_.height = uint32_t(height_of(height, rows));
    sheet_.channels = 3;
    sheet_.pixels.assign(size_t(sheet_.width) * sheet_.height * 3, kBackground);
}

void ComparisonSheet::put(size_t row, uint32_t column, const Image & image) {
    for (size_t y = 0; y < height_; ++y) {
        const size_t to = ((row * (height_ + kGap) + y) * sheet_.width + column * size_t(width_ + kGap)) * 3;
        std::copy_n(image.pixels.data() + y * width_ * 3, size_t(width_) * 3, sheet_.pixels.data() + to);
    }
}

void ComparisonSheet::add(size_t row, const Image & a, const Image & b) {
    constexpr int kFactor = 4; // small differences are to be seen
    Image difference = a;
    for (size_t i = 0; i < a.pixels.size(); ++i)
        difference.pixels[i] =
            uint8_t(std::min(255, kFactor * std::abs(int(a.pixels[i]) - int(b.pixels[i]))));
    put(row, 0, a);
    put(row, 1, b);
    put(row, 2, difference);
}

} // namespace cli
