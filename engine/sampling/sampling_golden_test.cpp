// Recorded runs: noise and noise levels to the bit, and the way from recorded model answers to the recorded
// latent image, to the bit as well.

#include "sampling/guidance.h"
#include "sampling/img2img.h"
#include "sampling/sampler.h"
#include "tests/support/json_value.h"
#include "tests/support/safetensors_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace sd::test {
namespace {

using ggml::test::JsonValue;
using Stored = std::map<std::string, ggml::test::StoredTensor>;

const std::string kFolder = CONVROT_GOLDEN_DIR "/pipeline/";

std::vector<JsonValue> cases() {
    std::ifstream file(kFolder + "index.json");
    std::ostringstream text;
    text << file.rdbuf();
    return ggml::test::JsonReader::read(text.str())["cases"].items;
}

// "karras", "discrete (default)"; "3.0", "default (1.15)"
std::string scheduler_of(const JsonValue & c) {
    const std::string & text = c["scheduler"].string;
    return text.substr(0, text.find(' '));
}

float shift_of(const JsonValue & c) {
    const std::string & text = c["flow_shift"].string;
    return text.starts_with("default") ? kDefaultFlowShift : std::stof(text);
}

Sigmas sigmas_of(const JsonValue & c) {
    ScheduleRequest request;
    request.steps = int(c["steps"].value());
    request.latent_width = int64_t(c["width"].value()) / 8;
    request.latent_height = int64_t(c["height"].value()) / 8;
    request.flow = Flow(shift_of(c));
    return make_schedule(scheduler_of(c), request);
}

std::vector<float> noise_of(const JsonValue & c) {
    std::vector<float> noise(size_t(c["width"].value() / 8 * (c["height"].value() / 8) * 16));
    const std::unique_ptr<Rng> rng = make_rng(RngKind::cuda);
    rng->seed(uint64_t(c["seed"].value()));
    rng->normal(noise.data(), noise.size());
    return noise;
}

TEST(sampling_golden, noise_levels_and_noise_are_the_recorded_ones_to_the_bit) {
    const std::vector<JsonValue> all = cases();
    ASSERT_GE(all.size(), 38u);
    for (const JsonValue & c : all) {
        const Stored stored = ggml::test::read_safetensors(kFolder + c["file"].string);
        EXPECT_EQ(sigmas_of(c), stored.at("sigmas").values<float>()) << c["id"].string;
        EXPECT_EQ(noise_of(c), stored.at("noise").values<float>()) << c["id"].string;
    }
}

TEST(sampling_golden, recorded_model_answers_lead_to_the_recorded_latent_image) {
    for (const JsonValue & c : cases()) {
        const Stored stored = ggml::test::read_safetensors(kFolder + c["file"].string);
        const std::vector<float> noise = noise_of(c), expected = stored.at("final_latent").values<float>();
        const Sigmas sigmas = sigmas_of(c);
        Guidance guidance(float(c["cfg_scale"].value()), int(sigmas.size()) - 1, {});
        const Denoise replay = [&](const Evaluation & e) {
            const std::string step = "step" + std::to_string(e.step);
            std::vector<float> v = stored.at(step + ".cond.dit_out").values<float>();
            if (guidance.needs_uncond(e.step)) {
                const std::vector<float> uncond = stored.at(step + ".uncond.dit_out").values<float>();
                guidance.combine(e.step, v.data(), uncond.data(), e.n, v.data());
            }
            for (size_t k = 0; k < e.n; ++k) e.denoised[k] = e.x[k] - e.sigma * v[k];
            return true;
        };
        Sampler sampler(c["sampler"].string, {}, {});
        std::vector<float> x(noise.size());
        mix_noise(nullptr, noise.data(), sigmas[0], x.size(), x.data());
        const std::unique_ptr<Rng> rng = make_rng(RngKind::cuda);
        ASSERT_TRUE(sampler.run(x, sigmas, *rng, replay));
        remove_noise_share(sigmas.back(), x.size(), x.data());
        EXPECT_EQ(x, expected) << c["id"].string;
    }
}

} // namespace
} // namespace sd::test
