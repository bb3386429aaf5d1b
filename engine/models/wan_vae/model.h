// The Wan 2.1 VAE for single pictures, as graphs. Of convolutions in time only the last tap sees a frame, so
// they are ordinary ones. Shapes in ggml order: [width, height, channels].
#pragma once

#include "models/wan_vae/config.h"
#include "nn/graph.h"
#include "nn/weights.h"

#include <array>
#include <string>
#include <vector>

namespace sd {

// What diffusion models work with is normalized per channel: (latent - mean) / deviation.
struct WanLatent {
    static const std::array<float, WanVaeConfig::z_channels> mean, deviation;
};

class WanVae {
  public:
    enum class Part { decoder, encoder };

    // Describes the weights of one part; they are loaded by their owner.
    WanVae(Weights & weights, const WanVaeConfig & config, Part part);

    // latent: F32 [w, h, 16], not normalized. Result: F32 [8 w, 8 h, 3], from -1 to 1 and a little beyond.
    ggml_tensor * decode(Graph & g, ggml_tensor * latent) const;

    // image: F32 [8 w, 8 h, 3], from -1 to 1. Result: F32 [w, h, 16], the mean, not normalized.
    ggml_tensor * encode(Graph & g, ggml_tensor * image) const;

    size_t most_nodes() const { return 1024; }

  private:
    struct Conv {
        ggml_tensor *kernel = nullptr, *bias = nullptr; // kernel F32 [kw, kh, in, out]
    };
    struct Residual {
        ggml_tensor *norm1, *norm2;
        Conv conv1, conv2, shortcut; // the last one without kernel when in == out
    };
    struct Attention {
        ggml_tensor *norm, *qkv, *qkv_bias, *proj, *proj_bias;
    };
    struct Middle {
        Residual before, after;
        Attention attention;
    };
    struct Layer {
        bool residual;
        Residual block;
        Conv resample;
    };

    Conv conv(Weights & w, const std::string & name, int64_t in, int64_t out) const;
    Residual residual(Weights & w, const std::string & name, int64_t in, int64_t out) const;
    Middle middle(Weights & w, const std::string & name, int64_t channels) const;
    void add_layers(Weights & w, const std::string & name, const std::vector<WanLevel> & levels);

    ggml_tensor * apply(Graph & g, const Conv & c, ggml_tensor * x, int stride, int padding) const;
    ggml_tensor * apply(Graph & g, const Residual & r, ggml_tensor * x) const;
    ggml_tensor * apply(Graph & g, const Attention & a, ggml_tensor * x) const;
    ggml_tensor * apply(Graph & g, const Middle & m, ggml_tensor * x) const;
    ggml_tensor * head(Graph & g, ggml_tensor * x) const;

    Conv latent_, first_, last_;
    Middle middle_;
    std::vector<Layer> layers_;
    ggml_tensor * head_norm_;
};

} // namespace sd
