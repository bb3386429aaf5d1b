#include "inspect/report.h"
#include "models/krea2/config.h"
#include "models/qwen3_vl/config.h"
#include "models/test_checkpoint.h"
#include "models/wan_vae/config.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sd {
namespace {

std::vector<ExpectedTensor> krea2() {
    Krea2Config c = {};
    c.features = 64;
    c.in_channels = c.out_channels = 16;
    c.head_dim = 32;
    c.heads = 2;
    c.kv_heads = 1;
    c.mlp = 96;
    c.layers = 3;
    c.text_dim = 96;
    c.text_head_dim = 32;
    c.text_heads = c.text_kv_heads = 3;
    c.text_mlp = 128;
    c.text_layers = 2;
    c.layerwise_blocks = 2;
    c.refiner_blocks = 1;
    c.timestep_dim = 256;
    return krea2_tensors(c);
}

std::vector<ExpectedTensor> qwen() {
    Qwen3VlConfig c = {};
    c.hidden = 48;
    c.vocab = 300;
    c.head_dim = 16;
    c.heads = 4;
    c.kv_heads = 2;
    c.mlp = 80;
    c.layers = 9;
    return qwen3_vl_tensors(c);
}

std::vector<ExpectedTensor> vae() { return wan_vae_tensors({8, true, true, false}); }
std::vector<ExpectedTensor> lora() { return {{"a.lora_up.weight", {4, 4}}, {"a.lora_down.weight", {4, 4}}}; }
std::vector<ExpectedTensor> z_image() {
    return {{"cap_embedder.1.weight", {4, 4}}, {"noise_refiner.0.a.weight", {4, 4}}};
}
std::vector<ExpectedTensor> nothing() { return {{"something.weight", {4, 4}}}; }

// The problem without the file's name; "" for none.
std::string problem(const InspectReport & report) {
    if (!report.problem) return {};
    const std::string line = report.problem->what();
    const size_t file = line.find(".safetensors: ");
    return file == std::string::npos ? line : line.substr(file + 14);
}

InspectReport inspected(const std::vector<ExpectedTensor> & tensors, Component component) {
    const test::TensorFile file(tensors);
    return inspect(file.open(component), {});
}

std::string problem(const std::vector<ExpectedTensor> & tensors, Component component) {
    return problem(inspected(tensors, component));
}

TEST(inspect, a_part_given_as_what_it_is_has_no_problem) {
    EXPECT_EQ(problem(krea2(), Component::diffusion), "");
    EXPECT_EQ(problem(qwen(), Component::llm), "");
    EXPECT_EQ(problem(vae(), Component::vae), "");
    for (const auto & tensors : {krea2(), qwen(), vae()}) EXPECT_EQ(problem(tensors, Component::model), "");
}

TEST(inspect, a_part_given_as_another_one_is_called_what_it_is) {
    const std::string dit = "a Krea 2 diffusion model is needed here",
                      text = "a Qwen3-VL text encoder is needed here", wan = "a Wan 2.1 VAE is needed here";
    EXPECT_EQ(problem(krea2(), Component::vae),
              "is no VAE: it holds Krea 2 diffusion model (give it as --diffusion-model; " + wan + ")");
    EXPECT_EQ(problem(qwen(), Component::vae),
              "is no VAE: it holds Qwen3-VL text encoder (give it as --llm; " + wan + ")");
    EXPECT_EQ(problem(krea2(), Component::llm),
              "is no text encoder: it holds Krea 2 diffusion model (give it as --diffusion-model; " + text +
                  ")");
    EXPECT_EQ(problem(vae(), Component::llm),
              "is no text encoder: it holds Wan 2.1 VAE (give it as --vae; " + text + ")");
    EXPECT_EQ(problem(vae(), Component::diffusion),
              "is no diffusion model: it holds Wan 2.1 VAE (give it as --vae; " + dit + ")");
    EXPECT_EQ(problem(z_image(), Component::vae),
              "is no VAE: it holds Z-Image diffusion model (" + wan + ")");
    EXPECT_EQ(problem(lora(), Component::diffusion),
              "is no diffusion model: it holds LoRA or related adapter (" + dit + ")");
    EXPECT_EQ(problem(lora(), Component::model),
              "holds LoRA or related adapter, which is no model (<lora:NAME:STRENGTH> in a prompt uses it)");
    EXPECT_EQ(problem(nothing(), Component::vae), "holds no VAE this program knows (" + wan + ")");
    EXPECT_EQ(problem(z_image(), Component::diffusion),
              "holds Z-Image diffusion model, which this program does not run (it runs Krea 2, Qwen3-VL text "
              "encoders and the Wan 2.1 VAE)");
}

TEST(inspect, the_report_of_a_part_given_as_another_one_describes_it) {
    const InspectReport report = inspected(krea2(), Component::vae);
    ASSERT_EQ(report.models.size(), 1u);
    EXPECT_EQ(report.models[0].family, "krea2");
    EXPECT_EQ(report.models[0].prefix, "");
    EXPECT_TRUE(report.models[0].missing.empty() && report.models[0].unused.empty());
    EXPECT_NE(inspect_text(report, false).find("\nKrea 2 diffusion model\n  layers 3; width 64;"),
              std::string::npos);
    const auto json = nlohmann::json::parse(inspect_json(report));
    EXPECT_EQ(json.at("problem").at("code"), "E_MODEL");
    EXPECT_EQ(json.at("models").at(0).at("title"), "Krea 2");
    // An adapter is found under any prefix, and listed once.
    EXPECT_EQ(inspected(lora(), Component::vae).models.size(), 1u);
}

TEST(inspect, what_runs_is_said_and_what_else_it_takes) {
    const auto says = [](const std::vector<ExpectedTensor> & tensors, const std::string & sentence) {
        return inspect_text(inspected(tensors, Component::model), false).find(sentence) != std::string::npos;
    };
    EXPECT_TRUE(says(krea2(),
                     "\nIt can be run here, together with a Qwen3-VL text encoder (--llm) and a Wan 2.1 "
                     "VAE (--vae).\n"));
    EXPECT_TRUE(
        says(vae(), "together with a Krea 2 diffusion model (--diffusion-model) and a Qwen3-VL text"));
    for (const auto & tensors : {z_image(), lora(), nothing()}) EXPECT_FALSE(says(tensors, "can be run"));
    std::vector<ExpectedTensor> all = krea2();
    for (ExpectedTensor t : vae()) all.push_back({"first_stage_model." + t.name, t.shape});
    for (ExpectedTensor t : qwen()) all.push_back({"text_encoders.llm." + t.name, t.shape});
    EXPECT_TRUE(says(all, "\nIt can be run here.\n"));
}

TEST(inspect, a_right_part_does_not_excuse_a_wrong_one) {
    const test::TensorFile dit(krea2()), text(qwen());
    Checkpoint checkpoint;
    checkpoint.add(dit.path(), Component::diffusion);
    checkpoint.add(text.path(), Component::vae);
    const InspectReport report = inspect(checkpoint, {});
    EXPECT_EQ(problem(report),
              "is no VAE: it holds Qwen3-VL text encoder (give it as --llm; a Wan 2.1 VAE is needed here)");
    EXPECT_EQ(report.problem->parts().file, text.path());
    EXPECT_EQ(report.models.size(), 2u);
}

TEST(inspect, a_model_that_lacks_tensors_has_a_problem) {
    std::vector<ExpectedTensor> tensors = krea2();
    std::erase_if(tensors, [](const ExpectedTensor & t) { return t.name == "blocks.1.attn.wq.weight"; });
    EXPECT_EQ(
        problem(tensors, Component::model),
        "1 tensor of Krea 2 diffusion model is missing: blocks.1.attn.wq.weight (the file is incomplete)");
    std::erase_if(tensors, [](const ExpectedTensor & t) { return t.name == "blocks.1.attn.wk.weight"; });
    EXPECT_EQ(problem(tensors, Component::model), "2 tensors of Krea 2 diffusion model are missing, as "
                                                  "blocks.1.attn.wq.weight (the file is incomplete)");
}

} // namespace
} // namespace sd
