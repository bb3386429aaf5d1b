#include "adapters/test_models.h"

#include <gtest/gtest.h>

#include <limits>

namespace sd {
namespace {

using test::AdapterTensor;

constexpr char kLayer[] = "blocks.0.attn.wk.";

class AdapterRefusals : public test::AdapterTest {
  protected:
    static std::vector<AdapterTensor> lora(const AdapterTensor & more = {}) {
        std::vector<AdapterTensor> all = {{std::string(kLayer) + "lora_A.weight", {4, 64}},
                                          {std::string(kLayer) + "lora_B.weight", {32, 4}}};
        if (!more.name.empty()) all.push_back(more);
        return all;
    }
    static AdapterTensor of_layer(const std::string & role, const std::vector<int64_t> & shape,
                                  const std::vector<float> & values = {}, StoredType type = StoredType::f32) {
        return {kLayer + role, shape, values, type};
    }
};

TEST_F(AdapterRefusals, halves_that_are_missing_are_named) {
    EXPECT_EQ(refusal({of_layer("lora_A.weight", {4, 64})}),
              "tensor blocks.0.attn.wk.lora_A.weight: comes without its lora_up (lora_B) of "
              "blocks.0.attn.wk.weight");
    EXPECT_EQ(refusal({of_layer("lora_B.weight", {32, 4})}),
              "tensor blocks.0.attn.wk.lora_B.weight: comes without its lora_down (lora_A) of "
              "blocks.0.attn.wk.weight");
    EXPECT_NE(refusal({of_layer("hada_w1_a", {32, 2}), of_layer("hada_w1_b", {2, 64}),
                       of_layer("hada_w2_a", {32, 2})})
                  .find("comes without its hada_w2_b"),
              std::string::npos);
    EXPECT_NE(
        refusal({of_layer("lokr_w1", {4, 8}), of_layer("lokr_w2_a", {8, 2})}).find("without its lokr_w2_b"),
        std::string::npos);
    EXPECT_NE(refusal({of_layer("lokr_w2", {8, 8})}).find("without its lokr_w1_a"), std::string::npos);
}

TEST_F(AdapterRefusals, shapes_that_do_not_fit_the_layer_are_named) {
    EXPECT_EQ(refusal({of_layer("lora_A.weight", {4, 63}), of_layer("lora_B.weight", {32, 4})}),
              "tensor blocks.0.attn.wk.lora_A.weight: has the shape [4, 63], and the layer of [32, 64] needs "
              "[rank, 64]");
    EXPECT_EQ(refusal({of_layer("lora_A.weight", {4, 64}), of_layer("lora_B.weight", {32, 5})}),
              "tensor blocks.0.attn.wk.lora_B.weight: has the shape [32, 5], and the layer of [32, 64] needs "
              "[32, 4]");
    EXPECT_EQ(refusal({of_layer("lora_A.weight", {4, 64, 3, 3}), of_layer("lora_B.weight", {32, 4})}),
              "tensor blocks.0.attn.wk.lora_A.weight: has the shape [4, 64, 3, 3], which is no matrix");
    EXPECT_EQ(
        refusal({of_layer("diff", {32, 63})}),
        "tensor blocks.0.attn.wk.diff: has the shape [32, 63], and what it changes has the shape [32, 64]");
    EXPECT_EQ(refusal({of_layer("diff_b", {33})}),
              "tensor blocks.0.attn.wk.diff_b: has the shape [33], and what it changes has 32 elements");
    EXPECT_NE(
        refusal({of_layer("lokr_w1", {4, 8}), of_layer("lokr_w2", {8, 4})}).find("does not make the layer's"),
        std::string::npos);
    EXPECT_NE(refusal({of_layer("lokr_w1", {100, 8}), of_layer("lokr_w2", {8, 4})})
                  .find("does not make the layer's"),
              std::string::npos);
}

TEST_F(AdapterRefusals, a_rank_beyond_the_layer_is_refused) {
    EXPECT_EQ(
        refusal({of_layer("lora_A.weight", {65, 64}), of_layer("lora_B.weight", {32, 65})}),
        "tensor blocks.0.attn.wk.lora_A.weight: makes a rank of 65, more than the layer of [32, 64] has");
}

TEST_F(AdapterRefusals, values_that_are_not_finite_are_refused) {
    std::vector<float> values(32 * 4, 1.0f);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        values[77] = bad;
        EXPECT_EQ(refusal({of_layer("lora_A.weight", {4, 64}), of_layer("lora_B.weight", {32, 4}, values)}),
                  "tensor blocks.0.attn.wk.lora_B.weight: has values that are not finite");
    }
    EXPECT_EQ(refusal(lora(of_layer("alpha", {}, {std::numeric_limits<float>::quiet_NaN()}))),
              "tensor blocks.0.attn.wk.alpha: has values that are not finite");
}

TEST_F(AdapterRefusals, an_alpha_of_zero_or_of_several_values_is_refused) {
    EXPECT_EQ(refusal(lora(of_layer("alpha", {}, {0.0f}))),
              "tensor blocks.0.attn.wk.alpha: is 0, which would leave nothing of the layer's adapter");
    EXPECT_EQ(refusal(lora(of_layer("alpha", {2}, {4.0f, 4.0f}))),
              "tensor blocks.0.attn.wk.alpha: has the shape [2], not one value");
}

TEST_F(AdapterRefusals, types_that_are_no_floats_are_refused) {
    EXPECT_EQ(
        refusal({of_layer("lora_A.weight", {4, 64}, {}, StoredType::i8), of_layer("lora_B.weight", {32, 4})}),
        "tensor blocks.0.attn.wk.lora_A.weight: holds values of the type I8, and those of an adapter are "
        "floats");
}

TEST_F(AdapterRefusals, the_same_layer_under_two_names_is_refused) {
    EXPECT_EQ(refusal(lora({"transformer_blocks.0.attn.to_k.lora_A.weight", {4, 64}})),
              "tensor transformer_blocks.0.attn.to_k.lora_A.weight: changes the same as "
              "blocks.0.attn.wk.lora_A.weight");
    EXPECT_EQ(
        refusal(lora({"blocks.0.attn.qkv.diff", {128, 64}})),
        "tensor blocks.0.attn.qkv.diff: changes blocks.0.attn.wk.weight, which another tensor of the file "
        "changes, too");
    EXPECT_EQ(refusal(lora(of_layer("diff", {32, 64}))),
              "tensor blocks.0.attn.wk.lora_A.weight: is not the only kind of adapter for "
              "blocks.0.attn.wk.weight in this file");
    EXPECT_EQ(refusal({{"first.diff_b", {64}}, {"first.bias.diff", {64}}}),
              "tensor first.diff_b: changes first.bias, which another tensor of the file changes, too");
}

TEST_F(AdapterRefusals, kinds_that_are_not_run_are_named) {
    EXPECT_EQ(
        refusal(lora(of_layer("dora_scale", {32, 1}))),
        "tensor blocks.0.attn.wk.dora_scale: belongs to an adapter of the kind DoRA, which cannot be run "
        "here");
    EXPECT_NE(refusal({of_layer("oft_blocks", {4, 8, 8})}).find("of the kind OFT"), std::string::npos);
}

TEST_F(AdapterRefusals, a_file_of_another_model_is_refused_and_its_first_names_are_told) {
    EXPECT_EQ(
        refusal({{"double_blocks.0.lora_A.weight", {4, 64}},
                 {"double_blocks.0.lora_B.weight", {64, 4}},
                 {"double_blocks.1.lora_A.weight", {64, 4}},
                 {"double_blocks.1.lora_B.weight", {64, 4}}}),
        "none of its 4 tensors matches the models: double_blocks.0.lora_A.weight, "
        "double_blocks.0.lora_B.weight, double_blocks.1.lora_A.weight, ... (it belongs to another model, or "
        "is no adapter)");
    EXPECT_NE(refusal({of_layer("alpha", {}, {1.0f})}).find("none of its 1 tensors matches"),
              std::string::npos);
}

TEST_F(AdapterRefusals, tensors_that_match_nothing_are_counted_when_others_match) {
    const Adapter adapter = read(lora({"blocks.9.attn.wk.lora_A.weight", {4, 64}}));
    EXPECT_EQ(adapter.keys, 3u);
    EXPECT_EQ(adapter.unmatched, std::vector<std::string>{"blocks.9.attn.wk.lora_A.weight"});
    EXPECT_EQ(adapter.changes[0].size(), 1u);
}

TEST_F(AdapterRefusals, strengths_add_up_and_a_strength_of_zero_changes_nothing) {
    const std::string file = put_adapter("b.safetensors", lora());
    const auto uses = combined({{file, 0.5f}, {file, 0.25f}});
    ASSERT_EQ(uses.size(), 1u);
    EXPECT_EQ(read_adapters(uses, *targets_)[0].at("blocks.0.attn.wk.weight")[0].factor, 0.75f);
    EXPECT_TRUE(read_adapters(combined({{file, 0.5f}, {file, -0.5f}}), *targets_)[0].empty());
    EXPECT_NE(test::refusal_of([&] {
                  combined({{file, std::numeric_limits<float>::infinity()}});
              }).find("no finite number"),
              std::string::npos);
}

TEST_F(AdapterRefusals, a_fingerprint_changes_with_strength_and_file) {
    const std::string file = put_adapter("b.safetensors", lora());
    const std::string before = fingerprint({{file, 1.0f}});
    EXPECT_EQ(fingerprint({{file, 1.0f}}), before);
    EXPECT_NE(fingerprint({{file, 1.0000001f}}), before);
    put_adapter("b.safetensors", lora({"first.diff_b", {64}}));
    EXPECT_NE(fingerprint({{file, 1.0f}}), before);
}

} // namespace
} // namespace sd
