#include "sampling/extra_args.h"

namespace sd {
namespace {

constexpr ExtraSampleArg kArgs[] = {
    {"gamma", "euler_ge", "weight of the newest derivative (2)"},
    {"noise_scale_start", "lcm", "factor of the noise in the first step (1)"},
    {"noise_scale_end", "lcm", "the same in the last step (that of the first)"},
    {"noise_clip_std", "lcm", "noise is cut at this many standard deviations (0: never)"},
    {"lms_max_order", "lms", "values used per step, 1 to 4 (4)"},
    {"lms_shift", "lms", "by how many steps older values are taken newer, 0 to 3 (1)"},
    {"lms_divisions", "lms", "divisions of the numeric integral (1000)"},
    {"alpha", "beta", "first parameter of the distribution (0.6)"},
    {"beta", "beta", "second parameter of the distribution (0.6)"},
    {"base_shift", "flux, ltx2", "shift of small images (flux 0.5, ltx2 0.95)"},
    {"max_shift", "flux, ltx2", "shift of large images (flux 1.15, ltx2 2.05)"},
    {"stretch", "ltx2", "whether the last noise level is moved to `terminal` (1)"},
    {"terminal", "ltx2", "last noise level before 0 (0.1)"},
    {"logit_mean", "logit_normal", "mean of the logit (0)"},
    {"logit_std", "logit_normal", "standard deviation of the logit (1.75)"},
    {"logsnr_min", "logit_normal", "smallest logarithm of the signal to noise ratio (-15)"},
    {"logsnr_max", "logit_normal", "largest one (18)"},
    {"resolution_aware", "logit_normal", "whether large images get more noise (0)"},
    {"guidance_schedule", "guidance", "scale per step, `5.5x10+1x10`"},
    {"apg_eta", "guidance", "share kept of guidance along the prediction (1)"},
    {"apg_momentum", "guidance", "momentum of the guidance direction (0)"},
    {"apg_norm_threshold", "guidance", "largest norm of the guidance direction (0: any)"},
    {"apg_norm_threshold_smoothing", "guidance", "how softly that norm is approached (0: not)"},
    {"strength_as_noise_level", "img2img", "strength is a noise level, not a share of the steps (0)"},
    {"force_first_sigma", "img2img", "the first noise level becomes the strength itself (0)"},
};

} // namespace

std::span<const ExtraSampleArg> extra_sample_args() { return kArgs; }

KeyValues parse_extra_sample_args(std::string_view text) {
    KeyValues parsed = KeyValues::parse(text);
    std::vector<std::string> known;
    for (const ExtraSampleArg & arg : kArgs) known.push_back(arg.name);
    parsed.check_known(known);
    return parsed;
}

} // namespace sd
