#include "models/wan_vae/config.h"

#include <algorithm>

namespace sd {
namespace {

// Adds tensors under a common beginning.
class List {
  public:
    List(std::vector<ExpectedTensor> & out, bool flat) : out_(out), flat_(flat) {}

    void conv(const std::string & name, int64_t out, int64_t in, int64_t time, int64_t side) {
        std::vector<int64_t> shape = {out, in};
        if (!flat_) shape.push_back(time);
        shape.insert(shape.end(), {side, side});
        out_.push_back({name + ".weight", std::move(shape)});
        out_.push_back({name + ".bias", {out}});
    }
    void gamma(const std::string & name, int64_t channels) { out_.push_back({name + ".gamma", {channels}}); }

    void residual(const std::string & name, int64_t in, int64_t out) {
        gamma(name + ".residual.0", in);
        conv(name + ".residual.2", out, in, 3, 3);
        gamma(name + ".residual.3", out);
        conv(name + ".residual.6", out, out, 3, 3);
        if (in != out) conv(name + ".shortcut", out, in, 1, 1);
    }

    void attention(const std::string & name, int64_t channels) {
        gamma(name + ".norm", channels);
        out_.push_back({name + ".to_qkv.weight", {3 * channels, channels, 1, 1}});
        out_.push_back({name + ".to_qkv.bias", {3 * channels}});
        out_.push_back({name + ".proj.weight", {channels, channels, 1, 1}});
        out_.push_back({name + ".proj.bias", {channels}});
    }

    // One frame needs no mixing in time, so these weights are optional.
    void resample(const std::string & name, const WanLevel & level, bool up) {
        out_.push_back({name + ".resample.1.weight", {level.out, level.in, 3, 3}});
        out_.push_back({name + ".resample.1.bias", {level.out}});
        if (level.layer != WanLayer::temporal_resample) return;
        const int64_t out = up ? 2 * level.in : level.in;
        out_.push_back({name + ".time_conv.weight", {out, level.in, 3, 1, 1}, true});
        out_.push_back({name + ".time_conv.bias", {out}, true});
    }

    void levels(const std::string & name, const std::vector<WanLevel> & levels, bool up) {
        for (size_t i = 0; i < levels.size(); ++i) {
            const std::string layer = name + "." + std::to_string(i);
            const bool block =
                levels[i].layer == WanLayer::residual || levels[i].layer == WanLayer::shortcut_residual;
            if (block)
                residual(layer, levels[i].in, levels[i].out);
            else
                resample(layer, levels[i], up);
        }
    }

    void middle(const std::string & name, int64_t channels) {
        residual(name + ".0", channels, channels);
        attention(name + ".1", channels);
        residual(name + ".2", channels, channels);
    }

  private:
    std::vector<ExpectedTensor> & out_;
    bool flat_;
};

} // namespace

std::vector<WanLevel> wan_encoder_levels(int64_t dim) {
    using enum WanLayer;
    const int64_t a = dim, b = 2 * dim, c = 4 * dim;
    return {{residual, a, a},          {residual, a, a}, {resample, a, a},
            {shortcut_residual, a, b}, {residual, b, b}, {temporal_resample, b, b},
            {shortcut_residual, b, c}, {residual, c, c}, {temporal_resample, c, c},
            {residual, c, c},          {residual, c, c}};
}

std::vector<WanLevel> wan_decoder_levels(int64_t dim) {
    using enum WanLayer;
    const int64_t a = dim, b = 2 * dim, c = 4 * dim;
    return {{residual, c, c},          {residual, c, c}, {residual, c, c}, {temporal_resample, c, b},
            {shortcut_residual, b, c}, {residual, c, c}, {residual, c, c}, {temporal_resample, c, b},
            {residual, b, b},          {residual, b, b}, {residual, b, b}, {resample, b, a},
            {residual, a, a},          {residual, a, a}, {residual, a, a}};
}

bool is_wan_vae(const ModelTable & table) {
    const auto known = [&](const char * side) {
        return table.find(std::string(side) + ".middle.0.residual.0.gamma") != nullptr;
    };
    return known("decoder") || known("encoder");
}

WanVaeConfig wan_vae_config(const ModelTable & table) {
    WanVaeConfig c = {};
    c.decoder = table.find("decoder.conv1.weight") != nullptr;
    c.encoder = table.find("encoder.conv1.weight") != nullptr;
    const std::string first = c.decoder ? "decoder.conv1.weight" : "encoder.conv1.weight";
    const ModelTensor & conv = table.get(first);
    // Four dimensions are either a flat repack, [out, in, 3, 3], or GGUF's merge of the first two.
    const size_t rank = conv.shape.size();
    const int64_t in = c.decoder ? WanVaeConfig::z_channels : 3;
    c.flat = rank == 4 && conv.shape[1] == in;
    const int64_t out = rank == 4 && !c.flat ? conv.shape[0] / in : conv.shape.empty() ? 0 : conv.shape[0];
    c.dim = c.decoder ? out / 4 : out;
    const bool channels = rank == 5 ? conv.shape[1] == in : rank == 4;
    if (!channels || c.dim < 1 || (c.decoder && out % 4 != 0)) {
        throw table.error(conv,
                          "has the shape " + shape_text(conv.shape) + ", which is not that of a Wan 2.1 VAE",
                          "Wan 2.2 and other VAEs have other latents");
    }
    return c;
}

std::vector<ExpectedTensor> wan_vae_tensors(const WanVaeConfig & c) {
    constexpr int64_t z = WanVaeConfig::z_channels;
    std::vector<ExpectedTensor> out;
    List list(out, c.flat);
    if (c.encoder) {
        list.conv("encoder.conv1", c.dim, 3, 3, 3);
        list.levels("encoder.downsamples", wan_encoder_levels(c.dim), false);
        list.middle("encoder.middle", 4 * c.dim);
        list.gamma("encoder.head.0", 4 * c.dim);
        list.conv("encoder.head.2", 2 * z, 4 * c.dim, 3, 3);
        list.conv("conv1", 2 * z, 2 * z, 1, 1);
    }
    if (c.decoder) {
        list.conv("conv2", z, z, 1, 1);
        list.conv("decoder.conv1", 4 * c.dim, z, 3, 3);
        list.middle("decoder.middle", 4 * c.dim);
        list.levels("decoder.upsamples", wan_decoder_levels(c.dim), true);
        list.gamma("decoder.head.0", c.dim);
        list.conv("decoder.head.2", 3, c.dim, 3, 3);
    }
    return out;
}

} // namespace sd
