// The VAE at work: latents to pictures and back, whole or in tiles.
#pragma once

#include "models/wan_vae/model.h"
#include "pipeline/runner.h"
#include "pipeline/tiling.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace sd {

class Autoencoder {
  public:
    // Describes and loads the weights of one part. The arguments must live longer.
    Autoencoder(const ModelTable & table, WanVae::Part part, Runner & runner,
                const Weights::Options & options, const ParallelOptions & loading);

    struct Run {
        TilingRequest tiling;
        const std::atomic<bool> * cancel = nullptr;
        std::function<void(int done, int tiles)> progress;
    };

    // latent: normalized, [16][h][w]. Result: [3][8 h][8 w], about -1 to 1.
    std::vector<float> decode(const std::vector<float> & latent, int64_t h, int64_t w, const Run & run);

    // image: [3][8 h][8 w], -1 to 1. Result: the normalized latent, [16][h][w].
    std::vector<float> encode(const std::vector<float> & image, int64_t h, int64_t w, const Run & run);

    bool always_there() const { return weights_.always_there(); }

    // What a run of this size would take, without taking it: working memory, pages of the file, and on the
    // CPU what goes in and comes out.
    uint64_t memory_of(int64_t h, int64_t w, const TilingRequest & tiling);

  private:
    struct Shape {
        int64_t channels, height, width;
        int64_t count() const { return channels * height * width; }
    };
    struct Piece {
        Graph graph;
        ggml_tensor *in, *out;
    };
    // How an axis of a latent is cut.
    TiledAxis axis(int64_t size, int tile, float relative, const TilingRequest & tiling) const;
    Piece build(int64_t h, int64_t w) const;
    // All of `from` through the graph, in tiles of the latent size.
    std::vector<float> run(const std::vector<float> & from, int64_t h, int64_t w, const Run & run);

    WanVaeConfig config_;
    WanVae::Part part_;
    Weights weights_;
    WanVae model_;
    Runner & runner_;
};

} // namespace sd
