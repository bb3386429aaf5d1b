#include "models/common/rename.h"
#include "models/wan_vae/config.h"

#include <charconv>

namespace sd {
namespace {

// "up_blocks.<k>.resnets.<j>." is layer 4k + j of one list, "up_blocks.<k>.upsamplers.0." layer 4k + 3.
void flatten_up_blocks(std::string & name) {
    constexpr std::string_view kBefore = "decoder.up_blocks.";
    if (!name.starts_with(kBefore)) return;
    const char * end = name.data() + name.size();
    int k = 0;
    auto [at, problem] = std::from_chars(name.data() + kBefore.size(), end, k);
    if (problem != std::errc() || k < 0 || k > 3) return;
    std::string_view rest(at, size_t(end - at));
    int layer = 4 * k + 3;
    if (rest.starts_with(".upsamplers.0.")) {
        rest.remove_prefix(14);
    } else if (rest.starts_with(".resnets.")) {
        int j = 0;
        const auto [behind, bad] = std::from_chars(rest.data() + 9, end, j);
        if (bad != std::errc() || j < 0 || j > 2 || behind == end || *behind != '.') return;
        layer = 4 * k + j;
        rest = std::string_view(behind + 1, size_t(end - behind - 1));
    } else {
        return;
    }
    name = "decoder.upsamples." + std::to_string(layer) + "." + std::string(rest);
}

} // namespace

std::string wan_vae_name(std::string_view from) {
    std::string name(from);
    rename_beginning(name, {{"quant_conv.", "conv1."},
                            {"post_quant_conv.", "conv2."},
                            {"encoder.conv_in.", "encoder.conv1."},
                            {"decoder.conv_in.", "decoder.conv1."},
                            {"encoder.norm_out.", "encoder.head.0."},
                            {"decoder.norm_out.", "decoder.head.0."},
                            {"encoder.conv_out.", "encoder.head.2."},
                            {"decoder.conv_out.", "decoder.head.2."},
                            {"encoder.down_blocks.", "encoder.downsamples."}});
    flatten_up_blocks(name);
    rename_part(name, {{".mid_block.resnets.0.", ".middle.0."},
                       {".mid_block.resnets.1.", ".middle.2."},
                       {".mid_block.attentions.0.", ".middle.1."}});
    const bool layer =
        name.find("samples.") != std::string::npos || name.find(".middle.") != std::string::npos;
    if (!layer) return name;
    rename_part(name, {{".norm1.", ".residual.0."},
                       {".conv1.", ".residual.2."},
                       {".norm2.", ".residual.3."},
                       {".conv2.", ".residual.6."},
                       {".conv_shortcut.", ".shortcut."}});
    return name;
}

} // namespace sd
