#include "pipeline/advice.h"

#include "base/error.h"
#include "base/log.h"
#include "gguf.h"
#include "sampling/sampler.h"
#include "sampling/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sd {
namespace {

// Larger sizes and counts are for people to ask for: a file must not make a picture take hours or all the
// memory.
constexpr int kLeastPixels = 8, kMostPixels = 4096, kMostAdvised = 1000;
constexpr float kMostGuidance = 100.0f, kMostShift = 10.0f; // schedules take no larger shift

// Krea 2 Turbo and its like.
constexpr int kTurboSteps = 8;
constexpr float kTurboGuidance = 1.0f;

// The pairs as text, whichever container holds them.
std::optional<std::string> text_of(const Container & container, const std::string & key) {
    const auto pair = container.metadata.find(key);
    if (pair != container.metadata.end()) return pair->second;
    if (container.pairs == nullptr) return std::nullopt;
    const int64_t i = gguf_find_key(container.pairs.get(), key.c_str());
    if (i < 0) return std::nullopt;
    switch (gguf_get_kv_type(container.pairs.get(), i)) {
    case GGUF_TYPE_STRING: return gguf_get_val_str(container.pairs.get(), i);
    case GGUF_TYPE_UINT32: return std::to_string(gguf_get_val_u32(container.pairs.get(), i));
    case GGUF_TYPE_INT32: return std::to_string(gguf_get_val_i32(container.pairs.get(), i));
    case GGUF_TYPE_FLOAT32: return std::to_string(gguf_get_val_f32(container.pairs.get(), i));
    default: return std::nullopt;
    }
}

struct Reader {
    const Container & container;
    const std::string & path;

    void refuse(const std::string & key, const std::string & value, const std::string & why) const {
        log_warn(path + ": its metadata advise " + key + " \"" + printable(value, 40) + "\", which is " +
                 why + ": it is not used");
    }

    template <class T>
    std::optional<T> number(const std::string & key, T least, T most) const {
        const std::optional<std::string> text = text_of(container, key);
        if (!text) return std::nullopt;
        T value = 0;
        const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
        const bool whole = problem == std::errc() && end == text->data() + text->size();
        // Written so that NaN is outside, and that there is no -0.
        if (whole && value >= least && value <= most) return value == 0 ? T(0) : value;
        refuse(key, *text, "no number from " + short_text(least) + " to " + short_text(most));
        return std::nullopt;
    }

    template <class Resolve>
    std::string name(const std::string & key, Resolve resolve) const {
        const std::optional<std::string> text = text_of(container, key);
        if (!text) return {};
        try {
            return resolve(*text);
        } catch (const Error &) {
            refuse(key, *text, "nothing this program has for these models");
        }
        return {};
    }

    static std::string short_text(double value) { return std::to_string(std::llround(value)); }
};

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return text;
}

bool says_turbo(const Container & container, const std::string & path) {
    const std::string file = path.substr(path.rfind('/') + 1);
    for (const std::optional<std::string> & name :
         {std::optional(file), text_of(container, "modelspec.title"), text_of(container, "general.name")}) {
        if (name && lower(*name).find("turbo") != std::string::npos) return true;
    }
    return false;
}

} // namespace

Advice advice_of(const Container & container, const std::string & path) {
    const Reader read = {container, path};
    Advice a;
    a.width = read.number("generation.width", kLeastPixels, kMostPixels);
    a.height = read.number("generation.height", kLeastPixels, kMostPixels);
    if (a.width.has_value() != a.height.has_value()) {
        log_warn(path + ": its metadata advise one of generation.width and generation.height, which count "
                        "together: it is not used");
        a.width = a.height = std::nullopt;
    }
    a.steps = read.number("generation.steps", 1, kMostAdvised);
    a.cfg_scale = read.number("generation.cfg_scale", 0.0f, kMostGuidance);
    a.flow_shift = read.number("generation.flow_shift", -kMostShift, kMostShift);
    a.sampler = read.name("generation.sampling_method",
                          [](const std::string & name) { return std::string(find_sampler(name).name); });
    a.scheduler = read.name("generation.scheduler",
                            [](const std::string & name) { return std::string(find_scheduler(name).name); });
    if (!a.steps && !a.cfg_scale && says_turbo(container, path)) {
        a.steps = kTurboSteps;
        a.cfg_scale = kTurboGuidance;
        a.by_name = true;
    }
    return a;
}

} // namespace sd
