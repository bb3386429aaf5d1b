#include "pipeline/request.h"

#include "base/error.h"
#include "base/log.h"
#include "sampling/extra_args.h"
#include "sampling/img2img.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

namespace sd {
namespace {

// Beyond, a picture takes days and terabytes; it is a slip of the keyboard.
constexpr int kMostPixels = 16384, kMostBatch = 10000;
constexpr float kMostTiles = 4096;

[[noreturn]] void refuse(const std::string & cause, const std::string & advice = {}) {
    throw Error({"E_ARGUMENT", {}, {}, cause, advice});
}

int64_t latent_size(const char * name, int pixels) {
    if (pixels < 1 || pixels > kMostPixels) {
        refuse(std::string(name) + " is " + std::to_string(pixels),
               "1 to " + std::to_string(kMostPixels) + " pixels are possible");
    }
    return (int64_t(pixels) + 7) / 8;
}

int64_t drawn_seed(int64_t seed) {
    if (seed >= 0) return seed;
    std::random_device device;
    const int64_t drawn = int64_t(device() & 0x7fffffff);
    log_info("seed " + std::to_string(drawn));
    return drawn;
}

Sigmas sigmas_of(const Request & r, Plan & plan) {
    Sigmas sigmas;
    if (!r.sigmas.empty()) {
        sigmas = parse_sigmas(r.sigmas);
    } else {
        ScheduleRequest s;
        s.steps = r.steps;
        s.latent_width = plan.latent_width;
        s.latent_height = plan.latent_height;
        s.flow = Flow(r.flow_shift);
        s.extra = plan.extra;
        sigmas = make_schedule(plan.scheduler, s);
    }
    return r.init ? cut_schedule(sigmas, r.strength, plan.extra) : sigmas;
}

// Who asks for no change gets the least there is, and should know that it is some.
void tell_of_strength_0(const Request & r, const Plan & plan) {
    if (!r.init || r.strength != 0.0f) return;
    char level[32];
    std::snprintf(level, sizeof(level), "%.3g", double(plan.sigmas.front()));
    log_info("at strength 0 one step is done, the last, from noise level " + std::string(level));
}

// Written so that NaN is refused.
void check_tiling(const TilingRequest & t) {
    if (!t.enabled) return;
    if (!(t.overlap >= 0.0f && t.overlap <= 0.5f)) refuse("the tiles' overlap is not between 0 and 0.5");
    if (t.tile_x < 0 || t.tile_y < 0) refuse("a tile size is below 0");
    const auto possible = [](float part) { return part >= 0.0f && part <= kMostTiles; };
    if (!possible(t.relative_x) || !possible(t.relative_y))
        refuse("a relative tile size is not between 0 and " + std::to_string(int(kMostTiles)));
}

} // namespace

const char * resolve_scheduler(const SamplerInfo & sampler, const std::string & scheduler) {
    return scheduler.empty() ? sampler.scheduler : find_scheduler(scheduler).name;
}

Plan Plan::of(const Request & r) {
    Plan plan = {};
    plan.latent_width = latent_size("the width", r.width);
    plan.latent_height = latent_size("the height", r.height);
    if (r.width % 8 != 0 || r.height % 8 != 0) {
        log_info("the picture is made at " + std::to_string(plan.latent_width * 8) + "x" +
                 std::to_string(plan.latent_height * 8) + ", multiples of 8, and cropped to " +
                 std::to_string(r.width) + "x" + std::to_string(r.height));
    }
    if (r.batch < 1 || r.batch > kMostBatch) {
        refuse("the batch count is " + std::to_string(r.batch),
               "1 to " + std::to_string(kMostBatch) + " are possible");
    }
    if (!(r.strength >= 0.0f && r.strength <= 1.0f)) refuse("the strength is not between 0 and 1");
    check_tiling(r.tiling);
    const SamplerInfo & sampler = find_sampler(r.sampler);
    plan.extra = parse_extra_sample_args(r.extra);
    plan.scheduler = resolve_scheduler(sampler, r.scheduler);
    plan.sigmas = sigmas_of(r, plan);
    tell_of_strength_0(r, plan);
    // Refuses what else a method would only when it begins, after the weights are loaded.
    const Sampler checked(r.sampler, r.eta, plan.extra);
    plan.uncond = Guidance(r.cfg_scale, int(plan.sigmas.size()) - 1, plan.extra).ever_needs_uncond();
    if (r.seed > std::numeric_limits<int64_t>::max() - r.batch) refuse("the seed is too large for the batch");
    plan.seed = drawn_seed(r.seed);
    return plan;
}

} // namespace sd
