// What one generation is asked for, and what follows from it.
#pragma once

#include "adapters/adapter.h"
#include "pipeline/tiling.h"
#include "sampling/guidance.h"
#include "sampling/rng.h"
#include "sampling/sampler.h"
#include "sampling/schedule.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sd {

// Eight bits a channel, rows from the top, channels side by side.
struct Picture {
    int width = 0, height = 0, channels = 3;
    std::vector<uint8_t> pixels;
};

// Which of an input picture's `size` pixels along an axis lies under pixel `at` of a picture of `wanted`: the
// nearest; callers that want better bring the right size. Pixels beyond `wanted`, which are cut off in the
// end, repeat its edge, so that nothing is stretched.
inline int64_t pixel_under(int64_t at, int64_t wanted, int64_t size) {
    return (at < wanted ? at : wanted - 1) * size / wanted;
}

struct Request {
    std::string prompt, negative_prompt;
    std::vector<AdapterUse> adapters;
    int width = 512, height = 512;
    int steps = 20;
    float cfg_scale = 7.0f;
    std::string sampler = "euler";
    std::string scheduler; // empty: the sampler's
    std::optional<float> eta;
    float flow_shift = kDefaultFlowShift;
    std::string sigmas; // "a,b,c"; empty: the scheduler's
    std::string extra;  // key=value,...
    int64_t seed = 42;  // below 0: drawn
    int batch = 1;
    RngKind rng = RngKind::cuda;
    std::optional<RngKind> sampler_rng;
    std::optional<Picture> init, mask; // any size; mask: one channel, 128 and above is made anew
    float strength = 0.75f;
    TilingRequest tiling;
    bool check_nan = false;
    std::string dump;    // a file for watched tensors; empty: none
    std::string explain; // a file for what runs each node of a step, and why; empty: none
};

// The name of the scheduler asked for, or of the one that belongs to the sampler. Throws Error.
const char * resolve_scheduler(const SamplerInfo & sampler, const std::string & scheduler);

// Everything a request decides, checked. Throws Error for what cannot be.
struct Plan {
    int64_t seed; // never negative
    int64_t latent_width, latent_height;
    Sigmas sigmas; // the part that is run
    KeyValues extra;
    std::string scheduler;
    bool uncond; // whether the model is asked without the prompt, too

    static Plan of(const Request & request);
};

struct Callbacks {
    // A picture is finished: its number in the batch and the seed it can be made again with.
    std::function<void(int index, int64_t seed, Picture picture)> picture;
    // done of total units of what `what` names. False stops.
    std::function<bool(const char * what, uint64_t done, uint64_t total)> progress;
    // The estimate after a step, as a small picture; empty: not wanted.
    std::function<void(int step, int steps, Picture picture)> preview;
};

} // namespace sd
