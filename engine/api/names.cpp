#include "api/boundary.h"
#include "checkpoint/values/floats.h"
#include "pipeline/request.h"
#include "sampling/rng.h"
#include "sampling/sampler.h"
#include "sampling/schedule.h"
#include "stable-diffusion.h"

#include <cstring>

namespace {

// The i-th entry that is not refused.
template <class Table>
const char * usable_name(const Table & table, int i) {
    for (const auto & entry : table) {
        if (entry.refusal == nullptr && i-- == 0) return entry.name;
    }
    return nullptr;
}

constexpr const char * kRngNames[RNG_TYPE_COUNT] = {"std_default", "cuda", "cpu"};
constexpr const char * kLoraModes[LORA_APPLY_MODE_COUNT] = {"auto", "immediately", "at_runtime"};

} // namespace

extern "C" const char * sd_sampler_name(int i) { return usable_name(sd::samplers(), i); }
extern "C" const char * sd_scheduler_name(int i) { return usable_name(sd::schedulers(), i); }

extern "C" const char * sd_resolve_sampler(const char * sampler) {
    return sd::at_boundary<const char *>(nullptr, [&] {
        const std::string name = sd::text_of(sampler);
        return sd::find_sampler(name.empty() ? sd::Request().sampler : name).name;
    });
}

extern "C" const char * sd_resolve_scheduler(const char * sampler, const char * scheduler) {
    return sd::at_boundary<const char *>(nullptr, [&] {
        const std::string name = sd::text_of(sampler);
        const sd::SamplerInfo & method = sd::find_sampler(name.empty() ? sd::Request().sampler : name);
        return sd::resolve_scheduler(method, sd::text_of(scheduler));
    });
}

extern "C" const char * sd_weight_type_name(int i) {
    for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
        if (sd::is_float_target(ggml_type(type)) && i-- == 0) return ggml_type_name(ggml_type(type));
    }
    return nullptr;
}

extern "C" const char * sd_rng_type_name(rng_type_t type) {
    return type >= 0 && type < RNG_TYPE_COUNT ? kRngNames[type] : nullptr;
}

extern "C" rng_type_t str_to_rng_type(const char * name) {
    for (int i = 0; name != nullptr && i < RNG_TYPE_COUNT; ++i) {
        if (std::strcmp(kRngNames[i], name) == 0) return rng_type_t(i);
    }
    return RNG_TYPE_COUNT;
}

extern "C" const char * sd_lora_apply_mode_name(lora_apply_mode_t mode) {
    return mode >= 0 && mode < LORA_APPLY_MODE_COUNT ? kLoraModes[mode] : nullptr;
}

extern "C" lora_apply_mode_t str_to_lora_apply_mode(const char * name) {
    for (int i = 0; name != nullptr && i < LORA_APPLY_MODE_COUNT; ++i) {
        if (std::strcmp(kLoraModes[i], name) == 0) return lora_apply_mode_t(i);
    }
    return LORA_APPLY_MODE_COUNT;
}
