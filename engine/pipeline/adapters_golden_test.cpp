// One context after another with and without adapters, on the shared tiny models: nothing of one picture is
// left in the next one.
#include "pipeline/text_encoder.h"
#include "stable-diffusion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace sd {
namespace {

std::string model(const std::string & name) { return std::string(CONVROT_TINY_MODELS) + "/" + name; }

struct Use {
    const char * adapter;
    float strength;
};

class Context {
  public:
    Context(const char * diffusion, lora_apply_mode_t mode, bool keep) {
        const std::string dit = model(diffusion), llm = model("tiny-llm-f16.gguf"),
                          vae = model("wan21-vae-dim32-bf16.safetensors");
        sd_ctx_params_t p;
        sd_ctx_params_init(&p);
        p.files = {nullptr, dit.c_str(), llm.c_str(), vae.c_str()};
        p.n_threads = 2;
        p.lora_apply_mode = mode;
        p.keep_loaded = keep;
        ctx_.reset(new_sd_ctx(&p));
        EXPECT_NE(ctx_, nullptr) << sd_last_error();
    }

    // Empty when it failed.
    std::vector<uint8_t> picture(const std::vector<Use> & uses) {
        std::vector<std::string> paths;
        for (const Use & use : uses) paths.push_back(model(use.adapter));
        std::vector<sd_lora_t> loras;
        for (size_t i = 0; i < uses.size(); ++i) loras.push_back({false, uses[i].strength, paths[i].c_str()});
        sd_img_gen_params_t p;
        sd_img_gen_params_init(&p);
        p.prompt = "a dog";
        p.width = p.height = 64;
        p.seed = 7;
        p.sample_params.sample_steps = 1;
        p.sample_params.txt_cfg = 1.0f;
        p.loras = loras.data();
        p.lora_count = uint32_t(loras.size());
        sd_image_t * images = nullptr;
        int count = 0;
        if (!generate_image(ctx_.get(), &p, nullptr, &images, &count)) return {};
        const size_t bytes = size_t(images->width) * images->height * images->channel;
        std::vector<uint8_t> out(images->data, images->data + bytes);
        free_sd_images(images, count);
        return out;
    }

  private:
    std::unique_ptr<sd_ctx_t, decltype(&free_sd_ctx)> ctx_{nullptr, free_sd_ctx};
};

using Case = std::tuple<const char *, lora_apply_mode_t, bool>;
class AdapterContexts : public testing::TestWithParam<Case> {};

TEST_P(AdapterContexts, every_picture_is_that_of_a_fresh_context) {
    const auto [diffusion, mode, keep] = GetParam();
    const std::vector<std::vector<Use>> turns = {
        {},
        {{"tiny-adapter-lora.safetensors", 1.0f}},
        {{"tiny-adapter-lora.safetensors", 1.0f}},
        {{"tiny-adapter-lora.safetensors", -1.0f}},
        {{"tiny-adapter-diffnorm.safetensors", 1.0f}, {"tiny-adapter-lokr.safetensors", 0.5f}},
        {}};
    Context one(diffusion, mode, keep);
    std::vector<std::vector<uint8_t>> pictures;
    for (const std::vector<Use> & uses : turns) {
        pictures.push_back(one.picture(uses));
        ASSERT_FALSE(pictures.back().empty()) << sd_last_error();
        EXPECT_EQ(pictures.back(), Context(diffusion, mode, keep).picture(uses));
    }
    EXPECT_EQ(pictures[1], pictures[2]);
    EXPECT_EQ(pictures[0], pictures[5]);
    for (size_t i = 0; i < 4; ++i) {
        for (size_t j = i + 1; j < 5; ++j) EXPECT_EQ(pictures[i] == pictures[j], i == 1 && j == 2) << i << j;
    }
}

TEST_P(AdapterContexts, a_strength_of_zero_is_bit_for_bit_no_adapter) {
    const auto [diffusion, mode, keep] = GetParam();
    Context context(diffusion, mode, keep);
    const std::vector<uint8_t> none = context.picture({});
    EXPECT_EQ(context.picture({{"tiny-adapter-lora.safetensors", 0.0f}}), none);
    EXPECT_EQ(
        context.picture({{"tiny-adapter-lora.safetensors", 0.5f}, {"tiny-adapter-lora.safetensors", -0.5f}}),
        none);
}

TEST_P(AdapterContexts, an_adapter_that_is_refused_leaves_the_context_as_it_was) {
    const auto [diffusion, mode, keep] = GetParam();
    Context context(diffusion, mode, keep);
    const std::vector<Use> good = {{"tiny-adapter-lora.safetensors", 1.0f}};
    const std::vector<uint8_t> before = context.picture(good);
    EXPECT_TRUE(context.picture({{"none.safetensors", 1.0f}}).empty());
    EXPECT_STREQ(sd_last_error_code(), "E_FILE");
    EXPECT_TRUE(context.picture({{"wan21-vae-dim32-bf16.safetensors", 1.0f}}).empty());
    EXPECT_STREQ(sd_last_error_code(), "E_ADAPTER");
    EXPECT_EQ(context.picture(good), before);
}

INSTANTIATE_TEST_SUITE_P(models, AdapterContexts,
                         testing::Values(Case("tiny-dit-bf16.safetensors", LORA_APPLY_IMMEDIATELY, true),
                                         Case("tiny-dit-bf16.safetensors", LORA_APPLY_AT_RUNTIME, true),
                                         Case("tiny-dit-bf16.safetensors", LORA_APPLY_AUTO, false),
                                         Case("tiny-dit-int8.safetensors", LORA_APPLY_AUTO, true)));

TEST(AdapterModes, quantized_models_fall_back_to_run_time) {
    const std::vector<Use> uses = {{"tiny-adapter-lora.safetensors", 1.0f}};
    EXPECT_EQ(Context("tiny-dit-int8.safetensors", LORA_APPLY_IMMEDIATELY, false).picture(uses),
              Context("tiny-dit-int8.safetensors", LORA_APPLY_AT_RUNTIME, false).picture(uses));
}

// A text encoder's features with these changes.
std::vector<float> context_of(const ModelTable & table, const ModelChanges & changes, bool merge) {
    Runner runner(2);
    Weights::Options options;
    options.memory = {{runner.weight_memory()}};
    options.type_of = [](const TensorInfo &) { return GGML_TYPE_F32; };
    options.changes = &changes;
    options.merge = merge;
    TextEncoder encoder(table, {&runner}, "", options, {});
    Watch unwatched(false);
    return encoder.encode("a dog", "cond", unwatched, nullptr).values;
}

double distance(const std::vector<float> & a, const std::vector<float> & b) {
    double difference = 0.0, norm = 0.0;
    for (size_t i = 0; i < a.size(); ++i) {
        difference += std::pow(double(a[i]) - double(b[i]), 2);
        norm += std::pow(double(b[i]), 2);
    }
    return std::sqrt(difference / norm);
}

TEST(TextAdapters, at_run_time_and_merged_give_the_same_features) {
    Checkpoint checkpoint;
    checkpoint.add(model("tiny-llm-f16.gguf"), Component::llm);
    const QuantModules quants = find_quant_modules(checkpoint);
    const ModelTable table(checkpoint, quants, "text_encoders.llm.", qwen3_vl_name);
    ModelChanges changes;
    for (const char * module : {"self_attn.q_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.up_proj"}) {
        const std::string tensor = "layers.1." + std::string(module) + ".weight";
        const int64_t n = table.size(tensor, 2, 0), k = table.size(tensor, 2, 1);
        Change c;
        c.a = {n, 2, std::vector<float>(size_t(n * 2))};
        c.b = {2, k, std::vector<float>(size_t(k * 2))};
        for (size_t i = 0; i < c.a.values.size(); ++i) c.a.values[i] = 0.1f * std::sin(float(i));
        for (size_t i = 0; i < c.b.values.size(); ++i) c.b.values[i] = 0.1f * std::cos(float(3 * i));
        changes[tensor].push_back(c);
    }
    const std::vector<float> without = context_of(table, {}, false);
    const std::vector<float> added = context_of(table, changes, false),
                             merged = context_of(table, changes, true);
    ASSERT_EQ(added.size(), merged.size());
    EXPECT_LT(distance(added, merged), 1e-4);
    EXPECT_GT(distance(added, without), 1e-2);
}

} // namespace
} // namespace sd
