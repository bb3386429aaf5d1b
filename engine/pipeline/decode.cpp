#include "pipeline/engine.h"

#include "base/error.h"
#include "base/log.h"
#include "base/size_text.h"
#include "pipeline/masked_pixels.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

constexpr int kScale = WanVaeConfig::scale;

uint8_t color(float v) {
    const float unit = (v + 1.0f) * 0.5f;
    if (!(unit > 0.0f)) return 0;
    return unit >= 1.0f ? 255 : uint8_t(unit * 255.0f + 0.5f);
}

// [3][8 h][8 w] to bytes, without what is beyond the wanted size.
Picture picture_of(const std::vector<float> & image, int64_t rows, int64_t columns, int width, int height) {
    Picture out = {width, height, 3, std::vector<uint8_t>(size_t(width) * size_t(height) * 3)};
    size_t i = 0;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            for (int c = 0; c < 3; ++c) out.pixels[i++] = color(image[size_t((c * rows + y) * columns + x)]);
        }
    }
    return out;
}

// What may be done in place of one piece, largest first.
std::vector<TilingRequest> tiles_instead(const TilingRequest & asked) {
    if (asked.enabled) return {};
    TilingRequest tiles = asked;
    tiles.enabled = true;
    if (asked.tile_x > 0 || asked.tile_y > 0 || asked.relative_x > 0 || asked.relative_y > 0) return {tiles};
    std::vector<TilingRequest> all;
    for (const int size : {32, 24, 16, 12, 8}) {
        tiles.tile_x = tiles.tile_y = size;
        all.push_back(tiles);
    }
    return all;
}

} // namespace

TilingRequest Engine::tiles_that_fit(const TilingRequest & asked, const Plan & plan, Autoencoder & vae,
                                     const char * doing) {
    const Runner & runner = *runners(Module::vae).front();
    const std::optional<MemoryBudget> & budget = placement_[Module::vae].devices.front().budget;
    const auto needs = [&](const TilingRequest & t) {
        return vae.memory_of(plan.latent_height, plan.latent_width, t);
    };
    const uint64_t needed = needs(asked), there = runner.room(budget);
    if (needed <= there) return asked;
    const std::vector<TilingRequest> possible = tiles_instead(asked);
    uint64_t least = needed;
    for (const TilingRequest & tiles : possible) {
        least = needs(tiles);
        if (least > there) continue;
        log_warn(std::string(doing) + " in one piece would take " + size_text(needed) + " and there are " +
                 size_text(there) + ": it is done in " +
                 (&tiles == &possible.front() ? "tiles" : "small tiles, which may show"));
        return tiles;
    }
    throw Error({"E_MEMORY",
                 {},
                 {},
                 std::string(doing) + " needs at least " + size_text(least) + " of memory; it may take " +
                     size_text(there),
                 runner.advice(budget, least, there)});
}

std::vector<float> Engine::encode_image(const Request & request, const Plan & plan,
                                        const Callbacks & callbacks) {
    const Picture & picture = *request.init;
    const int64_t rows = plan.latent_height * kScale, columns = plan.latent_width * kScale;
    std::vector<float> image(size_t(3 * rows * columns));
    for (int64_t c = 0; c < 3; ++c) {
        for (int64_t y = 0; y < rows; ++y) {
            const int64_t from_y = pixel_under(y, request.height, picture.height);
            for (int64_t x = 0; x < columns; ++x) {
                const int64_t at = from_y * picture.width + pixel_under(x, request.width, picture.width);
                const uint8_t value = picture.pixels[size_t(at * picture.channels + c)];
                image[size_t((c * rows + y) * columns + x)] = float(value) / 255.0f * 2.0f - 1.0f;
            }
        }
    }
    if (encoder_ == nullptr) {
        encoder_ = std::make_unique<Autoencoder>(*vae_table_, WanVae::Part::encoder, runner(Module::vae),
                                                 weight_options(Module::vae, callbacks, "loading the VAE"),
                                                 loading());
    }
    Autoencoder::Run run;
    run.tiling = tiles_that_fit(request.tiling, plan, *encoder_, "encoding the picture");
    run.cancel = &cancel_;
    std::vector<float> latent = encoder_->encode(image, plan.latent_height, plan.latent_width, run);
    end_phase(Module::vae);
    return latent;
}

void Engine::decode(const Request & request, const Plan & plan, int index, const std::vector<float> & latent,
                    const Callbacks & callbacks, Watch & watch) {
    if (decoder_ == nullptr) {
        decoder_ = std::make_unique<Autoencoder>(*vae_table_, WanVae::Part::decoder, runner(Module::vae),
                                                 weight_options(Module::vae, callbacks, "loading the VAE"),
                                                 loading());
    }
    Autoencoder::Run run;
    // The same for all pictures of a batch.
    if (!decoding_) decoding_ = tiles_that_fit(request.tiling, plan, *decoder_, "decoding");
    run.tiling = *decoding_;
    run.cancel = &cancel_;
    run.progress = [&](int done, int tiles) {
        const bool go_on =
            !callbacks.progress || callbacks.progress("decoding", uint64_t(done), uint64_t(tiles));
        if (!go_on) cancel_ = true;
    };
    const int64_t rows = plan.latent_height * kScale, columns = plan.latent_width * kScale;
    const std::vector<float> image = decoder_->decode(latent, plan.latent_height, plan.latent_width, run);
    runner(Module::vae).release();
    watch.floats(picture_prefix(index) + "image_raw", {1, 3, rows, columns}, image);
    if (std::any_of(image.begin(), image.end(), [](float v) { return !std::isfinite(v); })) {
        throw Error({"E_NAN", {}, {}, "the VAE's picture is not finite", {}});
    }
    if (!callbacks.picture) return;
    Picture picture = picture_of(image, rows, columns, request.width, request.height);
    if (request.init && request.mask) keep_masked_pixels(*request.init, *request.mask, picture);
    callbacks.picture(index, plan.seed + index, std::move(picture));
}

} // namespace sd
