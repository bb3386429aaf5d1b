#include "apps/cli/model_advice.h"

#include <charconv>
#include <cmath>

namespace cli {
namespace {

std::string shown(float value) {
    char text[48];
    const auto [end, problem] = std::to_chars(text, text + sizeof(text), value);
    return problem == std::errc() ? std::string(text, end) : "?";
}

} // namespace

std::string take_advice(const sd_model_advice_t & advice, Arguments & a, Inputs & in) {
    const auto given = [&](const char * name) { return a.given.count(name) != 0; };
    std::string taken;
    const auto say = [&](const std::string & what) { taken += (taken.empty() ? "" : ", ") + what; };
    // A picture to begin from has a size of its own.
    const bool sized = (given("--width") && given("--height")) || !a.init_image.empty();
    if (!sized && advice.width > 0 && advice.height > 0) {
        if (!given("--width")) in.width = advice.width;
        if (!given("--height")) in.height = advice.height;
        say(std::to_string(in.width) + "x" + std::to_string(in.height));
    }
    if (!given("--steps") && !given("--sigmas") && advice.steps > 0) {
        a.steps = advice.steps;
        say(std::to_string(a.steps) + (a.steps == 1 ? " step" : " steps"));
    }
    if (!given("--cfg-scale") && std::isfinite(advice.cfg_scale)) {
        a.cfg_scale = advice.cfg_scale;
        say("cfg scale " + shown(a.cfg_scale));
    }
    if (!given("--sampling-method") && advice.sample_method != nullptr) {
        a.sampling_method = advice.sample_method;
        say(a.sampling_method);
    }
    if (!given("--scheduler") && !given("--sigmas") && advice.scheduler != nullptr) {
        a.scheduler = advice.scheduler;
        say(a.scheduler);
    }
    if (!given("--flow-shift") && std::isfinite(advice.flow_shift)) {
        a.flow_shift = advice.flow_shift;
        say("flow shift " + shown(a.flow_shift));
    }
    if (taken.empty()) return taken;
    return (advice.by_name ? "the model's name says turbo: " : "the model's own settings: ") + taken +
           " (options change them)";
}

} // namespace cli
