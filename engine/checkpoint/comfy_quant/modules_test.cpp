#include "checkpoint/comfy_quant/test_model.h"

namespace sd {
namespace {

using test::int8_layer;
using test::TestModel;
class QuantModulesTest : public test::QuantTest {
  protected:
    // The only module of a model.
    QuantModule only(const TestModel & model, const QuantOptions & options = {},
                     Component component = Component::model) {
        checkpoint_ = load(model, component);
        const QuantModules found = find_quant_modules(checkpoint_, options);
        EXPECT_EQ(found.modules.size(), 1u);
        return found.modules.empty() ? QuantModule{} : found.modules[0];
    }

    Checkpoint checkpoint_;
};

std::vector<std::string> names(const std::vector<const TensorInfo *> & tensors) {
    std::vector<std::string> all;
    for (const TensorInfo * t : tensors) all.push_back(t->name);
    return all;
}

using Names = std::vector<std::string>;
constexpr const char * kInt8 = R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":4})";

TEST_F(QuantModulesTest, int8_layers_have_their_parts) {
    const QuantModule m =
        only(int8_layer(2, 8, kInt8).add("l.bias", "BF16", {2}).add("l.input_scale", "F32", {}));
    EXPECT_EQ(m.name, "l");
    EXPECT_EQ(m.format, QuantFormat::int8_tensorwise);
    EXPECT_STREQ(quant_format_name(m.format), "int8_tensorwise");
    EXPECT_EQ(m.use, QuantUse::linear);
    EXPECT_EQ(m.group, 4);
    EXPECT_EQ(m.n, 2);
    EXPECT_EQ(m.k, 8);
    EXPECT_FALSE(m.full_precision);
    EXPECT_EQ(m.weight, checkpoint_.find("l.weight"));
    EXPECT_EQ(m.codes, StoredType::i8);
    EXPECT_EQ(m.scale, checkpoint_.find("l.weight_scale"));
    EXPECT_EQ(m.bias, checkpoint_.find("l.bias"));
    EXPECT_EQ(m.settings_from, "tensor");
    EXPECT_EQ(names(find_quant_modules(checkpoint_).consumed),
              (Names{"l.comfy_quant", "l.input_scale", "l.weight_scale"}));
}

TEST_F(QuantModulesTest, every_scale_shape_of_an_int8_layer_is_taken) {
    for (const std::vector<int64_t> & shape : {std::vector<int64_t>{}, {1}, {1, 1}, {2}, {2, 1}}) {
        for (const char * dtype : {"F32", "F16", "BF16", "F64"}) {
            TestModel model;
            model.add("l.weight", "I8", {2, 4}).add("l.weight_scale", dtype, shape).marker("l", kInt8);
            EXPECT_EQ(only(model).scale->shape, shape) << dtype;
        }
    }
}

TEST_F(QuantModulesTest, groups_default_to_256_and_go_to_4096) {
    EXPECT_EQ(only(int8_layer(2, 512, R"({"format":"int8_tensorwise","convrot":true})")).group, 256);
    EXPECT_EQ(only(int8_layer(2, 512, R"({"format":"int8_tensorwise"})")).group, 1);
    EXPECT_EQ(
        only(int8_layer(2, 12, R"({"format":"int8_tensorwise","convrot":false,"convrot_groupsize":256})"))
            .group,
        1);
    EXPECT_EQ(
        only(int8_layer(1, 4096, R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":4096})"))
            .group,
        4096);
    EXPECT_EQ(
        only(int8_layer(1, 7, R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":1})")).group,
        1);
    EXPECT_EQ(
        only(int8_layer(1, 16, R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":16.0})"))
            .group,
        16);
}

TEST_F(QuantModulesTest, keys_nested_in_params_count_below_those_outside) {
    EXPECT_EQ(
        only(int8_layer(2, 64,
                        R"({"format":"int8_tensorwise","params":{"convrot":true,"convrot_groupsize":64}})"))
            .group,
        64);
    EXPECT_EQ(
        only(
            int8_layer(
                2, 64,
                R"({"params":{"format":"int8_tensorwise","convrot":true,"convrot_groupsize":64},"convrot_groupsize":16})"))
            .group,
        16);
    EXPECT_EQ(
        only(int8_layer(2, 64, R"({"format":"int8_tensorwise","convrot":false,"params":{"convrot":true}})"))
            .group,
        1);
    EXPECT_TRUE(
        only(
            int8_layer(
                2, 64,
                R"({"format":"int8_tensorwise","full_precision_matrix_mult":true,"params":null,"orig_shape":[2,{"a":[]}]})"))
            .full_precision);
}

TEST_F(QuantModulesTest, the_header_wins_and_bare_strings_are_formats) {
    TestModel both = int8_layer(2, 64, kInt8);
    both.header(
        R"({"format_version":"1.0","layers":{"l":{"format":"int8_tensorwise","convrot":true,"convrot_groupsize":16}}})");
    EXPECT_EQ(only(both).group, 16);
    EXPECT_EQ(only(both).settings_from, "header");
    EXPECT_EQ(only(int8_layer(2, 64, "").header(R"({"layers":{"l":"int8_tensorwise"}})")).group, 1);
}

TEST_F(QuantModulesTest, header_names_may_lack_the_prefix_of_the_tensors) {
    const std::string header = R"({"layers":{"blk.l":"float8_e4m3fn"}})";
    for (const char * prefix : {"", "model.diffusion_model.", "diffusion_model.", "model."}) {
        TestModel model;
        model.add(std::string(prefix) + "blk.l.weight", "F8_E4M3", {2, 4}).header(header);
        EXPECT_EQ(only(model).format, QuantFormat::float8_e4m3fn) << prefix;
    }
    TestModel bare;
    bare.add("blk.l.weight", "F8_E4M3", {2, 4}).header(header);
    EXPECT_EQ(only(bare, {}, Component::diffusion).name, "model.diffusion_model.blk.l");
    TestModel prefixed;
    prefixed.add("model.blk.l.weight", "F8_E4M3", {2, 4})
        .header(R"({"layers":{"model.blk.l":"float8_e4m3fn"}})");
    EXPECT_EQ(only(prefixed, {}, Component::llm).name, "text_encoders.llm.blk.l");
}

TEST_F(QuantModulesTest, packed_layers_are_rotated_whatever_the_flag_says) {
    TestModel model;
    model.add("l.weight", "U8", {2, 128}).add("l.weight_scale", "F32", {2, 1});
    const QuantModule m =
        only(model.marker("l", R"({"format":"convrot_w4a4","convrot":false,"linear_dtype":"int8"})"));
    EXPECT_EQ(m.format, QuantFormat::convrot_w4a4);
    EXPECT_EQ(m.group, 256);
    EXPECT_EQ(m.k, 256);
    EXPECT_EQ(m.codes, StoredType::i8);
}

TEST_F(QuantModulesTest, w4a8_layers_have_their_parts_in_each_type) {
    for (const char * relative : {"F8_E4M3", "U8", "F32"}) {
        TestModel model;
        model.add("l.weight", "I8", {2, 16})
            .add("l.weight_s_rel", relative, {2, 2})
            .add("l.weight_s_channel", "F32", {2});
        model.marker("l", R"({"format":"asym_w4a8_int8","convrot_groupsize":16,"group_size":16})");
        const QuantModule m = only(model);
        EXPECT_EQ(m.k, 32);
        EXPECT_EQ(m.relative, checkpoint_.find("l.weight_s_rel"));
        EXPECT_EQ(m.channel, checkpoint_.find("l.weight_s_channel"));
        EXPECT_EQ(m.codebook, nullptr);
        EXPECT_EQ(m.scale, nullptr);
        const QuantModule with_book = only(model.add("l.weight_codebook", "F32", {16}));
        EXPECT_EQ(with_book.codebook, &checkpoint_.get("l.weight_codebook"));
    }
}

TEST_F(QuantModulesTest, tables_are_known_by_name_and_heads_are_layers) {
    for (const auto & [name, use] : {std::pair{"model.embed_tokens", QuantUse::embedding},
                                     {"token_embd", QuantUse::embedding},
                                     {"lm_head", QuantUse::linear},
                                     {"not_embed_tokens", QuantUse::linear}}) {
        TestModel model;
        model.add(std::string(name) + ".weight", "I8", {8, 4})
            .add(std::string(name) + ".weight_scale", "F32", {8, 1});
        EXPECT_EQ(only(model.marker(name, kInt8)).use, use) << name;
    }
}

TEST_F(QuantModulesTest, convolutions_rotate_along_their_input_channels) {
    TestModel model;
    model.add("l.weight", "I8", {8, 4, 3, 3}).add("l.weight_scale", "F32", {8, 1, 1, 1});
    const QuantModule m = only(model.marker("l", kInt8));
    EXPECT_EQ(m.use, QuantUse::convolution);
    EXPECT_EQ(m.n, 8);
    EXPECT_EQ(m.k, 4);
    EXPECT_EQ(m.group, 4);
}

TEST_F(QuantModulesTest, float8_layers_have_one_scale_or_one_for_each_row_or_none) {
    TestModel labelled;
    labelled.add("l.weight", "U8", {2, 4}).add("l.weight_scale", "F32", {2, 1});
    const QuantModule m =
        only(labelled.marker("l", R"({"format":"float8_e5m2","full_precision_matrix_mult":true})"));
    EXPECT_EQ(m.format, QuantFormat::float8_e5m2);
    EXPECT_EQ(m.codes, StoredType::f8_e5m2);
    EXPECT_TRUE(m.full_precision);
    EXPECT_TRUE(is_float8(m.format));
    EXPECT_EQ(m.group, 1);
    TestModel bare;
    EXPECT_EQ(
        only(bare.add("l.weight", "F8_E4M3", {2, 4}).marker("l", R"({"format":"float8_e4m3fn"})")).scale,
        nullptr);
}

TEST_F(QuantModulesTest, scaled_fp8_without_settings_is_known_by_its_names) {
    TestModel model;
    model.add("scaled_fp8", "F8_E4M3", {2})
        .add("a.weight", "F8_E4M3", {2, 4})
        .add("a.scale_weight", "F32", {});
    model.add("a.scale_input", "F32", {})
        .add("plain.weight", "F8_E4M3", {2, 4})
        .add("norm.weight", "F16", {4});
    const QuantModule m = only(model);
    EXPECT_EQ(m.name, "a");
    EXPECT_EQ(m.format, QuantFormat::float8_e4m3fn);
    EXPECT_EQ(m.scale, checkpoint_.find("a.scale_weight"));
    EXPECT_TRUE(m.full_precision);
    EXPECT_EQ(m.settings_from, "names");
    EXPECT_EQ(names(find_quant_modules(checkpoint_).consumed),
              (Names{"a.scale_input", "a.scale_weight", "scaled_fp8"}));
    TestModel newer;
    newer.add("a.weight", "F8_E5M2", {2, 4}).add("a.weight_scale", "F32", {});
    EXPECT_EQ(only(newer).format, QuantFormat::float8_e5m2);
    EXPECT_FALSE(only(newer).full_precision);
}

TEST_F(QuantModulesTest, the_option_stands_in_for_missing_settings_only) {
    const QuantOptions four = {.assume_int8_group = 4}, none = {.assume_int8_group = 1};
    EXPECT_EQ(only(int8_layer(2, 64, ""), four).group, 4);
    EXPECT_EQ(only(int8_layer(2, 64, ""), four).settings_from, "option");
    EXPECT_EQ(only(int8_layer(2, 64, ""), none).group, 1);
    EXPECT_EQ(only(int8_layer(2, 64, R"({"convrot":true,"convrot_groupsize":16})"), four).group, 16);
    EXPECT_EQ(only(int8_layer(2, 64, R"({"convrot":false})"), four).group, 1);
    EXPECT_EQ(only(int8_layer(2, 64, R"({"per_row":true})"), four).group, 4);
    EXPECT_EQ(only(int8_layer(2, 64, "{}"), four).group, 4);
    EXPECT_EQ(only(int8_layer(2, 64, R"({"format":"int8_tensorwise"})"), four).group, 1);
    EXPECT_NE(refusal(TestModel().add("m.weight", "U8", {2, 4}), four), "");
}

TEST_F(QuantModulesTest, blank_markers_beside_floats_are_a_warning) {
    TestModel model = int8_layer(2, 4, kInt8);
    model.add("a.weight", "BF16", {2, 4}).add("a.comfy_quant", "U8", {0});
    model.add("b.weight", "F32", {4}).marker("b", "{\"format\":\"\"}");
    model.add("c.weight", "F8_E4M3", {2, 4}).marker("c", " \n");
    checkpoint_ = load(model);
    const QuantModules found = find_quant_modules(checkpoint_);
    EXPECT_EQ(found.modules.size(), 1u);
    EXPECT_EQ(
        found.warnings,
        (Names{"3 layers have an empty comfy_quant marker and a float weight (the first is a.weight)"}));
    EXPECT_EQ(names(found.consumed),
              (Names{"a.comfy_quant", "b.comfy_quant", "c.comfy_quant", "l.comfy_quant", "l.weight_scale"}));
}

TEST_F(QuantModulesTest, rotation_with_one_scale_for_all_is_a_warning) {
    TestModel model;
    model.add("l.weight", "I8", {2, 4}).add("l.weight_scale", "F32", {}).marker("l", kInt8);
    checkpoint_ = load(model);
    EXPECT_EQ(find_quant_modules(checkpoint_).warnings,
              (Names{"1 layer has rotated weights and one scale for the whole matrix, which costs quality "
                     "(l.weight)"}));
}

TEST_F(QuantModulesTest, formats_mix_in_one_file_in_the_order_of_names) {
    TestModel model = int8_layer(2, 4, kInt8);
    model.add("z.weight", "F8_E4M3", {2, 4}).marker("z", R"({"format":"float8_e4m3fn"})");
    model.add("a.weight", "I8", {2, 4})
        .add("a.weight_scale", "F32", {2})
        .marker("a", R"({"format":"int8_tensorwise"})");
    model.add("m.weight", "BF16", {2, 4}).add("l.comfy_attention.config", "U8", {3});
    checkpoint_ = load(model);
    Names found;
    for (const QuantModule & m : find_quant_modules(checkpoint_).modules)
        found.push_back(m.name + " " + quant_format_name(m.format));
    EXPECT_EQ(found, (Names{"a int8_tensorwise", "l int8_tensorwise", "z float8_e4m3fn"}));
}

} // namespace
} // namespace sd
