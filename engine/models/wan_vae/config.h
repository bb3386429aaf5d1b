// The Wan 2.1 VAE: sizes, names and shapes of its tensors. The width comes from the file; the list of layers
// is the architecture.
#pragma once

#include "models/common/model_table.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct WanVaeConfig {
    int64_t dim;  // channels of the finest level; the others have 2, 4 and 4 times as many
    bool encoder; // files may lack it
    bool decoder;
    bool flat; // a repack whose convolutions are two-dimensional

    static constexpr int z_channels = 16;
    static constexpr int scale = 8; // pixels per latent pixel, each way
};

// A layer of `downsamples` or `upsamples`, by its index in there.
enum class WanLayer { residual, shortcut_residual, resample, temporal_resample };
struct WanLevel {
    WanLayer layer;
    int64_t in, out; // channels
};
std::vector<WanLevel> wan_encoder_levels(int64_t dim);
std::vector<WanLevel> wan_decoder_levels(int64_t dim);

// Diffusers names become the original ones.
std::string wan_vae_name(std::string_view name);

bool is_wan_vae(const ModelTable & table);

// Throws Error when it is another kind of VAE, as Wan 2.2's.
WanVaeConfig wan_vae_config(const ModelTable & table);

std::vector<ExpectedTensor> wan_vae_tensors(const WanVaeConfig & config);

} // namespace sd
