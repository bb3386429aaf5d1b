#include "pipeline/autoencoder.h"

#include "base/error.h"

#include <algorithm>

namespace sd {
namespace {

constexpr int64_t kScale = WanVaeConfig::scale, kLatent = WanVaeConfig::z_channels, kColors = 3;

// A window of a picture [channels][height][width].
std::vector<float> cut(const std::vector<float> & from, int64_t channels, int64_t height, int64_t width,
                       int64_t y, int64_t x, int64_t h, int64_t w) {
    std::vector<float> out;
    out.reserve(size_t(channels * h * w));
    for (int64_t c = 0; c < channels; ++c) {
        for (int64_t row = 0; row < h; ++row) {
            const float * begin = from.data() + (c * height + y + row) * width + x;
            out.insert(out.end(), begin, begin + w);
        }
    }
    return out;
}

std::string part_name(WanVae::Part part) { return part == WanVae::Part::decoder ? "decoder" : "encoder"; }

// Only the part that is used must be complete.
void check_part(const ModelTable & table, const WanVaeConfig & config, WanVae::Part part) {
    const bool there = part == WanVae::Part::decoder ? config.decoder : config.encoder;
    if (!there) {
        throw Error({"E_TENSOR_MISSING",
                     table.checkpoint().file_of(*table.tensors().begin()->second.info).path(),
                     {},
                     "this VAE has no " + part_name(part),
                     {}});
    }
    WanVaeConfig one = config;
    one.decoder = part == WanVae::Part::decoder;
    one.encoder = part == WanVae::Part::encoder;
    require_complete(table, check_table(table, wan_vae_tensors(one)), "Wan 2.1 VAE " + part_name(part));
}

} // namespace

Autoencoder::Autoencoder(const ModelTable & table, WanVae::Part part, Runner & runner,
                         const Weights::Options & options, const ParallelOptions & loading)
    : config_(wan_vae_config(table)), part_(part), weights_(table, options),
      model_((check_part(table, config_, part), weights_), config_, part), runner_(runner) {
    weights_.load(loading);
}

Autoencoder::Piece Autoencoder::build(int64_t h, int64_t w) const {
    Piece piece = {Graph(model_.most_nodes()), nullptr, nullptr};
    Graph & g = piece.graph;
    if (part_ == WanVae::Part::decoder) {
        piece.in = g.input("latent", GGML_TYPE_F32, {w, h, kLatent});
        piece.out = g.output("image", model_.decode(g, piece.in));
    } else {
        piece.in = g.input("image", GGML_TYPE_F32, {w * kScale, h * kScale, kColors});
        piece.out = g.output("latent", model_.encode(g, piece.in));
    }
    return piece;
}

TiledAxis Autoencoder::axis(int64_t size, int tile, float relative, const TilingRequest & tiling) const {
    if (!tiling.enabled) return {size, size, 0, {{0, 0}}};
    const float factor = part_ == WanVae::Part::decoder ? 1.0f : 2.0f;
    return tile_axis(size, tile, relative, tiling.overlap, factor);
}

uint64_t Autoencoder::memory_of(int64_t h, int64_t w, const TilingRequest & t) {
    const int64_t th = axis(h, t.tile_y, t.relative_y, t).tile, tw = axis(w, t.tile_x, t.relative_x, t).tile;
    const WorkMemory work = runner_.memory_of(build(th, tw).graph);
    if (work.own == SIZE_MAX) return UINT64_MAX; // more than can be counted
    if (!runner_.on_cpu()) return work.sum();
    constexpr uint64_t image = uint64_t(kColors) * kScale * kScale, values = kLatent + image;
    return work.sum() + weights_.bytes_mapped(0) + values * sizeof(float) * uint64_t(h * w + th * tw);
}

std::vector<float> Autoencoder::run(const std::vector<float> & from, int64_t h, int64_t w, const Run & run) {
    const bool decoding = part_ == WanVae::Part::decoder;
    const TilingRequest & t = run.tiling;
    const TiledAxis rows = axis(h, t.tile_y, t.relative_y, t), columns = axis(w, t.tile_x, t.relative_x, t);
    const int64_t in = decoding ? 1 : kScale, out = decoding ? kScale : 1;
    const int64_t in_channels = decoding ? kLatent : kColors, out_channels = decoding ? kColors : kLatent;

    Piece piece = build(rows.tile, columns.tile);
    runner_.allocate(piece.graph);
    std::vector<float> result(size_t(out_channels * h * out * w * out));
    const int tiles = int(rows.tiles.size() * columns.tiles.size());
    int done = 0;
    if (run.progress) run.progress(done, tiles);
    for (const Tile & y : rows.tiles) {
        for (const Tile & x : columns.tiles) {
            runner_.set(piece.in, cut(from, in_channels, h * in, w * in, y.start * in, x.start * in,
                                      rows.tile * in, columns.tile * in));
            runner_.compute(piece.graph, run.cancel);
            const std::vector<float> values = runner_.floats(piece.out);
            const int64_t th = rows.tile * out, tw = columns.tile * out;
            for (int64_t r = 0; r < th; ++r) {
                const float weight = blend_weight(rows, y, r, out);
                if (weight == 0.0f) continue;
                for (int64_t c = 0; c < tw; ++c) {
                    const float both = weight * blend_weight(columns, x, c, out);
                    if (both == 0.0f) continue;
                    for (int64_t channel = 0; channel < out_channels; ++channel) {
                        const int64_t at =
                            (channel * h * out + y.start * out + r) * w * out + x.start * out + c;
                        result[size_t(at)] += both * values[size_t((channel * th + r) * tw + c)];
                    }
                }
            }
            if (run.progress) run.progress(++done, tiles);
        }
    }
    weights_.check_files();
    return result;
}

std::vector<float> Autoencoder::decode(const std::vector<float> & latent, int64_t h, int64_t w,
                                       const Run & options) {
    std::vector<float> raw(latent.size());
    for (size_t i = 0; i < raw.size(); ++i) {
        const size_t c = i / size_t(h * w);
        raw[i] = latent[i] * WanLatent::deviation[c] + WanLatent::mean[c];
    }
    return run(raw, h, w, options);
}

std::vector<float> Autoencoder::encode(const std::vector<float> & image, int64_t h, int64_t w,
                                       const Run & options) {
    std::vector<float> latent = run(image, h, w, options);
    for (size_t i = 0; i < latent.size(); ++i) {
        const size_t c = i / size_t(h * w);
        latent[i] = (latent[i] - WanLatent::mean[c]) / WanLatent::deviation[c];
    }
    return latent;
}

} // namespace sd
