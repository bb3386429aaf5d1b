#include "apps/cli/generation_data.h"

#include "stable-diffusion.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

Arguments arguments() {
    Arguments a;
    a.diffusion_model = "models/dit.safetensors";
    a.llm = "llm.gguf";
    a.vae = "/x/vae.safetensors";
    a.steps = 8;
    a.cfg_scale = 1.1f;
    return a;
}

const Generation kCat = {"a cat", "", 64, 48, "euler", "discrete"};

std::string generator() { return std::string("convrot.cpp ") + sd_version(); }

TEST(generation_data, text_for_people_then_json) {
    EXPECT_EQ(
        generation_text(arguments(), kCat, 43),
        "a cat\n"
        "Steps: 8, CFG scale: 1.100000, Seed: 43, Size: 64x48, RNG: cuda, Sampler: euler discrete, "
        "TE: llm.gguf, Unet: dit.safetensors, VAE: vae.safetensors, Version: " +
            generator() + ", SDCPP: {\"generator\":{\"name\":\"convrot.cpp\",\"version\":\"" + sd_version() +
            "\"},\"height\":48,\"mode\":\"img_gen\",\"models\":{\"diffusion_model\":\"dit.safetensors\","
            "\"llm\":\"llm.gguf\",\"vae\":\"vae.safetensors\"},\"prompt\":{\"negative\":\"\",\"positive\":"
            "\"a cat\"},\"rng\":\"cuda\",\"sampling\":{\"eta\":null,\"flow_shift\":null,\"guidance\":"
            "{\"txt_cfg\":1.1},\"method\":\"euler\",\"scheduler\":\"discrete\",\"steps\":8},"
            "\"schema\":\"sdcpp.image.params/v1\",\"seed\":43,\"width\":64}");
}

TEST(generation_data, what_is_given_appears) {
    Arguments a = arguments();
    a.sigmas = "[1, .5,0]";
    a.extra_sample_args = "x=1";
    a.eta = 0.5f;
    a.sampler_rng = "cpu";
    a.init_image = "in.png";
    a.vae_tiling = true;
    a.vae_tile_size = "16x24";
    Generation g = kCat;
    g.negative_prompt = "dogs";
    const std::string text = generation_text(a, g, 1);
    for (const char * part :
         {"a cat\nNegative prompt: dogs\nSteps: 8, ", "Eta: 0.500000, Extra sample args: x=1, Seed: 1,",
          "RNG: cuda, Sampler RNG: cpu, Denoising strength: 0.750000, Sampler: euler, "
          "Custom Sigmas: [1.0000, 0.5000, 0.0000], TE: ",
          "\"custom_sigmas\":[1.0,0.5,0.0]", "\"sampler_rng\":\"cpu\"", "\"strength\":0.75",
          "\"vae_tiling\":{\"enabled\":true,\"target_overlap\":0.5,\"tile_size_x\":16,\"tile_size_y\":24}"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(generation_data, adapters_are_in_the_text_and_in_a_list_of_their_own) {
    Generation g = kCat;
    g.prompt = "a cat ";
    g.given_prompt = "a cat <lora:style:0.8>";
    g.loras = {{"loras/style.safetensors", 0.8f}};
    const std::string text = generation_text(arguments(), g, 1);
    EXPECT_EQ(text.rfind("a cat <lora:style:0.8>\nSteps", 0), 0u) << text;
    EXPECT_NE(text.find("\"positive\":\"a cat \""), std::string::npos) << text;
    EXPECT_NE(
        text.find("\"loras\":[{\"is_high_noise\":false,\"multiplier\":0.8,\"name\":\"style.safetensors\"}]"),
        std::string::npos)
        << text;
}

TEST(generation_data, json_is_found_again_whatever_the_prompt_says) {
    Generation g = kCat;
    g.prompt = "x, SDCPP: {}\n, SDCPP: {\"a\":1}\n\"\\";
    const std::string json = json_of(generation_text(arguments(), g, 1));
    EXPECT_EQ(json.substr(0, 14), "{\"generator\":{");
    EXPECT_NE(json.find("\"positive\":\"x, SDCPP: {}\\n, SDCPP: {\\\"a\\\":1}\\n\\\"\\\\\""),
              std::string::npos);
    EXPECT_EQ(json_of("a\nSteps: 1"), "");
    EXPECT_EQ(json_of("a\nSteps: 1, SDCPP: {"), "");
    EXPECT_EQ(json_of(""), "");
}

TEST(generation_data, file_names_that_are_no_text_do_no_harm) {
    Arguments a = arguments();
    a.vae = "v\xff.safetensors";
    const std::string text = generation_text(a, kCat, 1);
    EXPECT_NE(text.find("VAE: v\xef\xbf\xbd.safetensors"), std::string::npos);
    EXPECT_NE(json_of(text), "");
}

} // namespace
} // namespace cli
