#include "apps/cli/image/image_difference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cli {
namespace {

Image made(uint32_t width, uint32_t height, int (*value)(int x, int y, int c)) {
    Image image = {width, height, 3, {}, ""};
    for (int y = 0; y < int(height); ++y) {
        for (int x = 0; x < int(width); ++x) {
            for (int c = 0; c < 3; ++c) image.pixels.push_back(uint8_t(value(x, y, c)));
        }
    }
    return image;
}

int ramp(int x, int y, int c) { return (x * 7 + y * 3 + c * 40) % 256; }
int shifted_ramp(int x, int y, int c) { return std::min(255, ramp(x, y, c) + (x + y) % 3 * 10); }

TEST(image_difference, a_picture_is_the_same_as_itself) {
    for (const uint32_t size : {1u, 5u, 11u, 40u}) {
        const Image a = made(size, size + 1, ramp);
        EXPECT_EQ(mean_squared_error(a, a), 0);
        EXPECT_EQ(psnr_of(0), INFINITY);
        EXPECT_EQ(ssim(a, a), 1);
    }
}

TEST(image_difference, errors_are_means_of_squares) {
    const Image a = made(8, 8, [](int, int, int) { return 100; });
    Image b = made(8, 8, [](int, int, int c) { return c == 0 ? 106 : 100; });
    EXPECT_DOUBLE_EQ(mean_squared_error(a, b), 12);
    EXPECT_NEAR(psnr_of(12), 37.339, 1e-3);
    b = made(8, 8, [](int, int, int) { return 0; });
    EXPECT_DOUBLE_EQ(mean_squared_error(b, made(8, 8, [](int, int, int) { return 255; })), 255.0 * 255.0);
    EXPECT_DOUBLE_EQ(psnr_of(255.0 * 255.0), 0);
}

// By the definition, window by window.
double plain_ssim(const Image & a, const Image & b) {
    double weights[11][11], all = 0, sum = 0;
    for (int i = 0; i < 121; ++i)
        all += weights[i / 11][i % 11] = std::exp(-(std::pow(i / 11 - 5, 2) + std::pow(i % 11 - 5, 2)) / 4.5);
    int windows = 0;
    for (int c = 0; c < 3; ++c) {
        for (int y = 0; y + 11 <= int(a.height); ++y) {
            for (int x = 0; x + 11 <= int(a.width); ++x) {
                double ma = 0, mb = 0, va = 0, vb = 0, cov = 0;
                const auto each = [&](auto && body) {
                    for (int i = 0; i < 121; ++i) {
                        const size_t at = (size_t(y + i / 11) * a.width + size_t(x + i % 11)) * 3 + size_t(c);
                        body(weights[i / 11][i % 11] / all, double(a.pixels[at]), double(b.pixels[at]));
                    }
                };
                each([&](double w, double p, double q) { ma += w * p, mb += w * q; });
                each([&](double w, double p, double q) {
                    va += w * (p - ma) * (p - ma), vb += w * (q - mb) * (q - mb),
                        cov += w * (p - ma) * (q - mb);
                });
                sum += (2 * ma * mb + 6.5025) * (2 * cov + 58.5225) /
                       ((ma * ma + mb * mb + 6.5025) * (va + vb + 58.5225));
                ++windows;
            }
        }
    }
    return sum / windows;
}

TEST(image_difference, similarity_follows_its_definition) {
    const Image a = made(29, 17, ramp), b = made(29, 17, shifted_ramp);
    EXPECT_NEAR(ssim(a, b), plain_ssim(a, b), 1e-9);
    EXPECT_LT(ssim(a, b), 0.999);
    EXPECT_EQ(ssim(a, b), ssim(b, a));
    const Image inverse = made(29, 17, [](int x, int y, int c) { return 255 - ramp(x, y, c); });
    EXPECT_LT(ssim(a, inverse), 0);
}

TEST(image_difference, a_sheet_shows_both_and_four_times_their_difference) {
    const Image a = made(3, 2, [](int, int, int) { return 10; }),
                b = made(3, 2, [](int, int, int) { return 14; });
    ComparisonSheet sheet(3, 2, 2);
    sheet.add(0, a, b);
    sheet.add(1, b, made(3, 2, [](int, int, int) { return 255; }));
    const Image & image = sheet.image();
    EXPECT_EQ(image.width, 3u * 3 + 16);
    EXPECT_EQ(image.height, 2u * 2 + 8);
    const auto at = [&](size_t x, size_t y) { return int(image.pixels[(y * image.width + x) * 3]); };
    EXPECT_EQ(at(0, 0), 10);
    EXPECT_EQ(at(3, 0), 128);
    EXPECT_EQ(at(11, 1), 14);
    EXPECT_EQ(at(22, 1), 16);
    EXPECT_EQ(at(0, 2), 128);
    EXPECT_EQ(at(0, 10), 14);
    EXPECT_EQ(at(11, 11), 255);
    EXPECT_EQ(at(24, 11), 255) << "964 does not fit";
}

} // namespace
} // namespace cli
