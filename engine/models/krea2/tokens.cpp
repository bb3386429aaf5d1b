#include "models/krea2/tokens.h"

#include <cmath>

namespace sd {
namespace {

constexpr int kPatch = Krea2Config::patch;

// Calls visit(index into the latent, index into the patches) for every element of the latent.
template <class Visit>
void walk(int64_t channels, int64_t height, int64_t width, Visit && visit) {
    const int64_t columns = krea2_patches(width);
    for (int64_t c = 0; c < channels; ++c) {
        for (int64_t y = 0; y < height; ++y) {
            for (int64_t x = 0; x < width; ++x) {
                const int64_t patch = y / kPatch * columns + x / kPatch;
                const int64_t inside = (c * kPatch + y % kPatch) * kPatch + x % kPatch;
                visit((c * height + y) * width + x, patch * channels * kPatch * kPatch + inside);
            }
        }
    }
}

} // namespace

void krea2_patchify(const float * latent, int64_t channels, int64_t height, int64_t width, float * patches) {
    std::fill(patches, patches + krea2_patches(height) * krea2_patches(width) * channels * kPatch * kPatch,
              0.0f);
    walk(channels, height, width, [&](int64_t from, int64_t to) { patches[to] = latent[from]; });
}

void krea2_unpatchify(const float * patches, int64_t channels, int64_t height, int64_t width,
                      float * latent) {
    walk(channels, height, width, [&](int64_t to, int64_t from) { latent[to] = patches[from]; });
}

std::vector<float> krea2_timestep(float t, int64_t dim) {
    const int64_t half = dim / 2;
    std::vector<float> out(static_cast<size_t>(dim));
    for (int64_t j = 0; j < half; ++j) {
        const double angle = 1000.0 * double(t) * std::exp(-std::log(10000.0) * double(j) / double(half));
        out[size_t(j)] = float(std::cos(angle));
        out[size_t(half + j)] = float(std::sin(angle));
    }
    return out;
}

std::vector<float> krea2_rope(const Krea2Config & config, int64_t text_tokens, int64_t rows,
                              int64_t columns) {
    std::vector<float> out;
    out.reserve(size_t((text_tokens + rows * columns) * config.head_dim * 2));
    const auto rotate = [&](int64_t position, int64_t width) {
        for (int64_t i = 0; i < width / 2; ++i) {
            const double theta = Krea2Config::rope_theta;
            const double angle = double(position) * std::pow(theta, -2.0 * double(i) / double(width));
            const float c = float(std::cos(angle)), s = float(std::sin(angle));
            out.insert(out.end(), {c, -s, s, c});
        }
    };
    const auto token = [&](int64_t row, int64_t column) {
        rotate(0, config.axis(0));
        rotate(row, config.axis(1));
        rotate(column, config.axis(2));
    };
    for (int64_t i = 0; i < text_tokens; ++i) token(0, 0);
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) token(row, column);
    }
    return out;
}

} // namespace sd
