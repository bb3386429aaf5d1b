#include "pipeline/preview.h"

#include "models/wan_vae/config.h"

#include <algorithm>

namespace sd {
namespace {

constexpr int kChannels = WanVaeConfig::z_channels;

// Red, green, blue of each latent channel, fitted to the Wan 2.1 VAE; then what is added.
constexpr float kColors[kChannels][3] = {
    {0.015123f, -0.148418f, 0.479828f},   {0.003652f, -0.010680f, -0.037142f},
    {0.212264f, 0.063033f, 0.016779f},    {0.232999f, 0.406476f, 0.220125f},
    {-0.051864f, -0.082384f, -0.069396f}, {0.085005f, -0.161492f, 0.010689f},
    {-0.245369f, -0.506846f, -0.117010f}, {-0.151145f, 0.017721f, 0.007207f},
    {-0.293239f, -0.207936f, -0.421135f}, {-0.187721f, 0.050783f, 0.177649f},
    {-0.013067f, 0.265964f, 0.166578f},   {0.028327f, 0.109329f, 0.108642f},
    {-0.205343f, 0.043991f, 0.148914f},   {0.014307f, -0.048647f, -0.007219f},
    {0.217150f, 0.053074f, 0.319923f},    {0.155357f, 0.083156f, 0.064780f}};
constexpr float kBias[3] = {-0.270270f, -0.234976f, -0.456853f};

} // namespace

Picture preview_of(const float * latent, int64_t height, int64_t width) {
    Picture out = {int(width), int(height), 3, std::vector<uint8_t>(size_t(height * width * 3))};
    for (int64_t i = 0; i < height * width; ++i) {
        for (int color = 0; color < 3; ++color) {
            float sum = kBias[color];
            for (int c = 0; c < kChannels; ++c) sum += latent[c * height * width + i] * kColors[c][color];
            out.pixels[size_t(i * 3 + color)] = uint8_t(std::clamp(sum * 0.5f + 0.5f, 0.0f, 1.0f) * 255.0f);
        }
    }
    return out;
}

} // namespace sd
