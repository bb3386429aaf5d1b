#include "checkpoint/prefixes.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

struct Case {
    Component component;
    std::string stored, table;
};

void expect_names(const std::vector<Case> & cases) {
    for (const Case & c : cases) EXPECT_EQ(table_name(c.stored, c.component), c.table) << c.stored;
}

TEST(Prefixes, diffusion_models_are_bare_or_have_one_of_two_prefixes) {
    const Component d = Component::diffusion;
    expect_names({
        {d, "first.weight", "model.diffusion_model.first.weight"},
        {d, "diffusion_model.first.weight", "model.diffusion_model.first.weight"},
        {d, "model.diffusion_model.first.weight", "model.diffusion_model.first.weight"},
        // Another part's prefix means nothing here: the whole file was given as this part.
        {d, "vae.conv1.bias", "model.diffusion_model.vae.conv1.bias"},
        {d, "model.layers.0", "model.diffusion_model.model.layers.0"},
    });
}

TEST(Prefixes, language_models_come_under_every_name_in_use) {
    const Component l = Component::llm;
    expect_names({
        {l, "layers.0.mlp.up_proj.weight", "text_encoders.llm.layers.0.mlp.up_proj.weight"},
        {l, "model.layers.0.mlp.up_proj.weight", "text_encoders.llm.layers.0.mlp.up_proj.weight"},
        {l, "model.language_model.embed_tokens.weight", "text_encoders.llm.embed_tokens.weight"},
        {l, "language_model.model.norm.weight", "text_encoders.llm.norm.weight"},
        {l, "language_model.norm.weight", "text_encoders.llm.norm.weight"},
        {l, "language_model.lm_head.weight", "text_encoders.llm.lm_head.weight"},
        {l, "model.visual.merger.norm.bias", "text_encoders.llm.visual.merger.norm.bias"},
        {l, "visual.merger.norm.bias", "text_encoders.llm.visual.merger.norm.bias"},
        {l, "token_embd.weight", "text_encoders.llm.token_embd.weight"},
        {l, "text_encoders.llm.model.norm.weight", "text_encoders.llm.norm.weight"},
        {l, "text_encoders.qwen3vl_4b.transformer.model.norm.weight", "text_encoders.llm.norm.weight"},
        {l, "text_encoders.qwen3vl_4b.transformer.model.visual.x", "text_encoders.llm.visual.x"},
    });
}

TEST(Prefixes, vaes_are_bare_or_have_one_of_two_prefixes) {
    const Component v = Component::vae;
    expect_names({
        {v, "decoder.conv1.weight", "vae.decoder.conv1.weight"},
        {v, "vae.decoder.conv1.weight", "vae.decoder.conv1.weight"},
        {v, "first_stage_model.decoder.conv1.weight", "vae.decoder.conv1.weight"},
    });
}

TEST(Prefixes, a_file_of_all_parts_keeps_names_nobody_knows) {
    const Component m = Component::model;
    expect_names({
        {m, "first.weight", "first.weight"},
        {m, "model.layers.0", "model.layers.0"},
        {m, "diffusion_model.first.weight", "model.diffusion_model.first.weight"},
        {m, "model.diffusion_model.first.weight", "model.diffusion_model.first.weight"},
        {m, "first_stage_model.conv1.bias", "vae.conv1.bias"},
        {m, "vae.conv1.bias", "vae.conv1.bias"},
        {m, "text_encoders.qwen3vl_4b.transformer.model.norm.weight", "text_encoders.llm.norm.weight"},
        {m, "text_encoders.t5xxl.transformer.shared.weight", "text_encoders.t5xxl.transformer.shared.weight"},
        {m, "", ""},
        {m, "vae.", "vae."},
        {m, "first_stage_model.", "first_stage_model."},
    });
}

TEST(Prefixes, naming_twice_changes_nothing) {
    for (const Component c : {Component::model, Component::diffusion, Component::llm, Component::vae}) {
        for (const char * stored : {"a.b", "model.diffusion_model.a", "first_stage_model.a", "model.norm"}) {
            const std::string once = table_name(stored, c);
            EXPECT_EQ(table_name(once, c), once);
        }
    }
}

} // namespace
} // namespace sd
