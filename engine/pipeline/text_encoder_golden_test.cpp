// Cases whose texts the shared vectors cut into other tokens than the model's own rules: their tokens and
// weights are fed instead.
#include "pipeline/text_encoder.h"

#include "tests/support/safetensors_file.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sd {
namespace {

double distance(const std::vector<float> & got, const std::vector<float> & expected) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        difference += std::pow(double(got[i]) - double(expected[i]), 2);
        norm += std::pow(double(expected[i]), 2);
    }
    return std::sqrt(difference / norm);
}

class TextEncoderGolden : public testing::TestWithParam<const char *> {};

TEST_P(TextEncoderGolden, gives_the_recorded_context_for_the_recorded_tokens) {
    const std::string golden = std::string(CONVROT_GOLDEN_DIR) + "/pipeline/" + GetParam() + ".safetensors";
    const auto tensors = ggml::test::read_safetensors(golden);
    const std::vector<int32_t> ids = tensors.at("cond.token_ids").values<int32_t>();
    std::vector<float> weights(ids.size(), 1.0f);
    if (const auto found = tensors.find("cond.token_weights"); found != tensors.end())
        weights = found->second.values<float>();

    Checkpoint checkpoint;
    checkpoint.add(std::string(CONVROT_TINY_MODELS) + "/tiny-llm-f16.gguf", Component::llm);
    const QuantModules quants = find_quant_modules(checkpoint);
    const ModelTable table(checkpoint, quants, "text_encoders.llm.", qwen3_vl_name);
    Runner runner(2);
    Weights::Options options;
    options.memory = {{runner.weight_memory()}};
    TextEncoder encoder(table, {&runner}, "", options, {});
    const TextContext context = encoder.encode_tokens(ids, weights, nullptr);
    const std::vector<float> expected = tensors.at("cond.context").values<float>();
    ASSERT_EQ(context.values.size(), expected.size());
    EXPECT_LT(distance(context.values, expected), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(cases, TextEncoderGolden,
                         testing::Values("a10_weights", "a12_unicode", "a01_f32_basic"));

} // namespace
} // namespace sd
