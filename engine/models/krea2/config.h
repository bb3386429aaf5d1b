// Krea 2's diffusion transformer: sizes, names and shapes of its tensors. Everything comes from the file.
#pragma once

#include "models/common/model_table.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct Krea2Config {
    int64_t features;                  // width of the residual stream
    int64_t in_channels, out_channels; // of the latent
    int64_t head_dim, heads, kv_heads;
    int64_t mlp; // inner width of a block's MLP
    int layers;
    int64_t text_dim, text_head_dim, text_heads, text_kv_heads, text_mlp;
    int64_t text_layers; // states of the text encoder per token
    int layerwise_blocks, refiner_blocks;
    int64_t timestep_dim; // sines and cosines

    static constexpr int patch = 2;
    static constexpr float norm_eps = 1e-5f;
    static constexpr float rope_theta = 1000.0f;

    // Channels of a head that rotate with the token's index, row and column.
    int64_t axis(int i) const {
        const int64_t unit = head_dim / 16;
        return i == 0 ? head_dim - 12 * unit : 6 * unit;
    }
};

// Diffusers names become the original ones.
std::string krea2_name(std::string_view name);
// And back.
std::string krea2_diffusers_name(std::string_view original);

bool is_krea2(const ModelTable & table);

// Throws Error when sizes are missing or do not belong together.
Krea2Config krea2_config(const ModelTable & table);

std::vector<ExpectedTensor> krea2_tensors(const Krea2Config & config);

} // namespace sd
