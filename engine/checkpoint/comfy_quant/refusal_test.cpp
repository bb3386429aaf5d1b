#include "checkpoint/comfy_quant/settings.h"
#include "checkpoint/comfy_quant/test_model.h"

namespace sd {
namespace {

using test::int8_layer;
using test::TestModel;
class QuantRefusalTest : public test::QuantTest {};

constexpr const char * kInt8 = R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":4})";
constexpr const char * kW4a4 = R"({"format":"convrot_w4a4","convrot_groupsize":4})";
constexpr const char * kW4a8 = R"({"format":"asym_w4a8_int8","convrot_groupsize":4,"group_size":16})";

// A sound asym_w4a8_int8 layer but for what `but` names.
TestModel w4a8(const std::string & but, const char * settings = kW4a8) {
    TestModel model;
    model.add("l.weight", "I8", {2, 16}).marker("l", settings);
    if (but != "weight_s_rel") model.add("l.weight_s_rel", "F8_E4M3", {2, 2});
    if (but != "weight_s_channel") model.add("l.weight_s_channel", "F32", {2});
    if (but != "weight_codebook") model.add("l.weight_codebook", "F32", {16});
    return model;
}

TestModel with_marker(const std::string & settings) { return int8_layer(2, 4, settings); }

TEST_F(QuantRefusalTest, a_marker_that_is_no_text) {
    EXPECT_EQ(refusal(int8_layer(2, 4, "").add("l.comfy_quant", "I8", {5})),
              "E_CONFIG_DTYPE FILE: tensor l.comfy_quant: settings are U8 text, this tensor is I8");
    EXPECT_EQ(
        refusal(with_marker(std::string(65537, ' '))),
        "E_CONFIG_SIZE FILE: tensor l.comfy_quant: settings have at most 65536 bytes, this tensor has 65537");
    EXPECT_EQ(refusal(int8_layer(2, 4, "").add("l.comfy_quant", "U8", {0})),
              "E_CONFIG_SIZE FILE: tensor l.comfy_quant: has 0 bytes, but the weight beside it is quantized "
              "(the file is "
              "damaged or was written by a faulty converter: get it again)");
}

TEST_F(QuantRefusalTest, settings_that_are_no_object) {
    EXPECT_EQ(refusal(with_marker(R"({"format":"int8_)")),
              "E_CONFIG_JSON FILE: tensor l.comfy_quant: its text is not JSON at byte 17 (the file is "
              "damaged, or not "
              "what it claims)");
    EXPECT_EQ(refusal(with_marker("{\"format\":\"\xff\"}")),
              "E_CONFIG_JSON FILE: tensor l.comfy_quant: its text is not JSON at byte 12 (the file is "
              "damaged, or not "
              "what it claims)");
    for (const char * text : {"[1]", "3", "\"int8_tensorwise\"", "null"})
        EXPECT_EQ(refusal(with_marker(text)),
                  "E_CONFIG_JSON FILE: tensor l.comfy_quant: its settings are no JSON object")
            << text;
    EXPECT_EQ(refusal(with_marker(R"({"convrot":true,"convrot":false})")),
              "E_CONFIG_JSON FILE: tensor l.comfy_quant: its settings have the key \"convrot\" twice");
    EXPECT_EQ(
        refusal(with_marker(R"({"a":)" + std::string(10000, '['))),
        "E_CONFIG_JSON FILE: tensor l.comfy_quant: its text is nested more than 32 levels deep (the file is "
        "damaged, or not what it claims)");
}

TEST_F(QuantRefusalTest, header_settings_that_are_none) {
    const auto line = [&](const std::string & json) { return refusal(int8_layer(2, 4, kInt8).header(json)); };
    EXPECT_EQ(
        line("{"),
        "E_CONFIG_JSON FILE: the header's _quantization_metadata: its text is not JSON at byte 2 (the file "
        "is damaged, or not what it claims)");
    EXPECT_EQ(line("{}"), "E_CONFIG_JSON FILE: the header's _quantization_metadata: it has no \"layers\"");
    EXPECT_EQ(line(R"({"layers":[]})"),
              "E_CONFIG_JSON FILE: the header's _quantization_metadata: its \"layers\" are no object");
    EXPECT_EQ(
        line(R"({"layers":{"l":3}})"),
        "E_CONFIG_JSON FILE: the header's _quantization_metadata: the settings of layer \"l\" are no object");
    EXPECT_EQ(
        line(R"({"layers":{"l":[]}})"),
        "E_CONFIG_JSON FILE: the header's _quantization_metadata: the settings of layer \"l\" are no object");
    EXPECT_EQ(line(R"({"layers":{"l":{"format":"int8_tensorwise","convrot":1}}})"),
              "E_CONFIG_VALUE FILE: the header's _quantization_metadata: layer \"l\": its setting "
              "\"convrot\" is 1, not true "
              "or false");
    EXPECT_EQ(
        line(R"({"layers":{"l":"int8_tensorwise","l":"int8_tensorwise"}})"),
        "E_CONFIG_JSON FILE: the header's _quantization_metadata: its settings have the key \"l\" twice");
}

TEST_F(QuantRefusalTest, values_of_the_wrong_type) {
    const auto line = [&](const std::string & members) {
        return refusal(with_marker(R"({"format":"int8_tensorwise",)" + members + "}"));
    };
    const std::string start = "E_CONFIG_VALUE FILE: tensor l.comfy_quant: its setting ";
    EXPECT_EQ(line(R"("convrot":"true")"), start + "\"convrot\" is \"true\", not true or false");
    EXPECT_EQ(line(R"("convrot_groupsize":"256")"),
              start + "\"convrot_groupsize\" is \"256\", not an integer");
    EXPECT_EQ(line(R"("convrot_groupsize":4.5)"), start + "\"convrot_groupsize\" is 4.5, not an integer");
    EXPECT_EQ(line(R"("convrot_groupsize":1e30)"), start + "\"convrot_groupsize\" is 1e30, not an integer");
    EXPECT_EQ(line(R"("convrot_groupsize":true)"), start + "\"convrot_groupsize\" is true, not an integer");
    EXPECT_EQ(line(R"("convrot_groupsize":[4])"),
              start + "\"convrot_groupsize\" is a list, not a plain value");
    EXPECT_EQ(line(R"("params":4)"), start + "\"params\" is 4, not an object");
    EXPECT_EQ(line(R"("params":[])"), start + "\"params\" is a list, not an object");
    EXPECT_EQ(line(R"("params":{"convrot":null})"), start + "\"convrot\" is null, not true or false");
    EXPECT_EQ(refusal(with_marker(R"({"format":8})")), start + "\"format\" is 8, not a string");
    EXPECT_EQ(
        refusal(TestModel()
                    .add("l.weight", "I8", {2, 4})
                    .add("l.weight_scale", "F32", {2})
                    .marker("l", R"({"format":"convrot_w4a4","linear_dtype":"int2","convrot_groupsize":4})")),
        "E_CONFIG_VALUE FILE: tensor l.weight: its setting \"linear_dtype\" is \"int2\", not \"int4\" or "
        "\"int8\"");
}

TEST_F(QuantRefusalTest, layers_without_a_format) {
    const std::string advice = " (if they are int8_tensorwise, --assume-int8-group 256 says so; a group in "
                               "the settings counts more)";
    EXPECT_EQ(refusal(with_marker(R"({"convrot":true,"convrot_groupsize":256,"per_row":true})")),
              "E_FORMAT_MISSING FILE: tensor l.weight: 1 layer has settings without the key \"format\"" +
                  advice);
    EXPECT_EQ(refusal(with_marker("{}")),
              "E_FORMAT_MISSING FILE: tensor l.weight: 1 layer has settings without the key \"format\"" +
                  advice);
    EXPECT_EQ(refusal(with_marker(std::string(3, '\0'))),
              "E_FORMAT_MISSING FILE: tensor l.weight: 1 layer has settings without the key \"format\"" +
                  advice);
    TestModel plain = int8_layer(2, 4, "");
    EXPECT_EQ(refusal(plain.add("m.weight", "I8", {2, 4}).add("m.weight_scale", "F32", {2})),
              "E_FORMAT_MISSING FILE: tensor l.weight: 2 layers have INT8 weights without ConvRot markers: "
              "scales, but no "
              "settings (--assume-int8-group G gives their rotation group, 1: not rotated)");
    EXPECT_EQ(refusal(TestModel().add("m.weight", "U8", {2, 4})),
              "E_FORMAT_MISSING FILE: tensor m.weight: 1 layer has U8 weights without settings that say what "
              "they are");
}

TEST_F(QuantRefusalTest, unknown_formats_are_counted_and_the_known_ones_listed) {
    TestModel model = int8_layer(2, 4, kInt8);
    for (const char * name : {"a", "b"}) {
        model.add(std::string(name) + ".weight", "U8", {2, 4}).marker(name, R"({"format":"nvfp4"})");
    }
    model.add("c.weight", "I8", {2, 4}).marker("c", R"({"format":"future_w3a3"})");
    EXPECT_EQ(refusal(model), "E_FORMAT_UNKNOWN FILE: tensor c.weight: 1 layer is in format \"future_w3a3\", "
                              "2 layers are in format "
                              "\"nvfp4\"; this build runs int8_tensorwise, convrot_w4a4, asym_w4a8_int8, "
                              "float8_e4m3fn, float8_e5m2");
    EXPECT_EQ(
        refusal(TestModel().add("c.weight", "I8", {2, 4}).marker("c", R"({"format":"f"})"),
                {.has_operators = false}),
        "E_FORMAT_UNKNOWN FILE: tensor c.weight: 1 layer is in format \"f\"; this build runs float8_e4m3fn, "
        "float8_e5m2");
}

TEST_F(QuantRefusalTest, weights_that_are_not_what_the_settings_say) {
    EXPECT_EQ(refusal(TestModel().marker("l", kInt8)), "E_WEIGHT_MISSING FILE: tensor l.comfy_quant: there "
                                                       "is no weight beside these settings (the file is not "
                                                       "complete: get it again)");
    EXPECT_EQ(refusal(int8_layer(2, 4, kInt8).header(R"({"layers":{"k":"int8_tensorwise"}})")),
              "E_WEIGHT_MISSING FILE: the header has settings of layer \"k\", which has no weight (the file "
              "is not complete: "
              "get it again)");
    EXPECT_EQ(refusal(TestModel().add("l.weight", "BF16", {2, 4}).marker("l", kInt8)),
              "E_WEIGHT_DTYPE FILE: tensor l.weight: is BF16; its settings say int8_tensorwise, which is I8");
    EXPECT_EQ(refusal(TestModel().add("l.weight", "F32", {2, 4}).marker("l", kW4a4)),
              "E_WEIGHT_DTYPE FILE: tensor l.weight: is F32; its settings say convrot_w4a4, which is I8");
    EXPECT_EQ(
        refusal(TestModel().add("l.weight", "F8_E5M2", {2, 4}).marker("l", R"({"format":"float8_e4m3fn"})")),
        "E_WEIGHT_DTYPE FILE: tensor l.weight: is F8_E5M2; its settings say float8_e4m3fn, which is F8_E4M3");
    EXPECT_EQ(
        refusal(TestModel()
                    .add("scaled_fp8", "F8_E4M3", {0})
                    .add("l.weight", "F16", {2, 2})
                    .add("l.scale_weight", "F32", {})),
        "E_WEIGHT_DTYPE FILE: tensor l.weight: has a scale_weight beside it, but is F16, not an 8-bit float");
    EXPECT_EQ(refusal(TestModel().add("l.weight", "I8", {8}).marker("l", kInt8)),
              "E_WEIGHT_RANK FILE: tensor l.weight: has shape [8]; int8_tensorwise needs two axes or more");
    EXPECT_EQ(refusal(TestModel().add("l.weight", "I8", {2, 2, 2}).marker("l", kW4a4)),
              "E_WEIGHT_RANK FILE: tensor l.weight: has shape [2, 2, 2]; convrot_w4a4 needs two axes");
    EXPECT_EQ(refusal(TestModel().add("l.weight", "I8", {0, 4}).marker("l", kInt8)),
              "E_WEIGHT_RANK FILE: tensor l.weight: has no elements: shape [0, 4]");
    const std::string bank =
        "E_WEIGHT_RANK FILE: tensor l.weight: is a bank of experts, shape [2, 4, 4], which is not supported";
    EXPECT_EQ(refusal(TestModel()
                          .add("l.weight", "I8", {2, 4, 4})
                          .add("l.weight_scale", "F32", {2, 4, 1})
                          .marker("l", kInt8)),
              bank);
    EXPECT_EQ(refusal(TestModel()
                          .add("l.weight", "I8", {2, 4, 4})
                          .add("l.weight_scale", "F32", {})
                          .marker("l", R"({"format":"int8_tensorwise","num_experts":2})")),
              bank);
}

TEST_F(QuantRefusalTest, groups_that_cannot_rotate) {
    const auto line = [&](const std::string & group, int k) {
        return refusal(int8_layer(
            2, k, R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":)" + group + "}"));
    };
    for (const char * group : {"0", "-4", "2", "100", "128", "16384"})
        EXPECT_EQ(line(group, 4), "E_GROUP_SIZE FILE: tensor l.weight: its convrot_groupsize " +
                                      std::string(group) + " is no power of four from 1 to 4096");
    EXPECT_EQ(line("16", 20), "E_GROUP_DIVIDES FILE: tensor l.weight: its convrot_groupsize 16 does not "
                              "divide its 20 input features");
    EXPECT_EQ(refusal(TestModel()
                          .add("l.weight", "I8", {2, 64})
                          .add("l.weight_scale", "F32", {2})
                          .marker("l", R"({"format":"convrot_w4a4"})")),
              "E_GROUP_DIVIDES FILE: tensor l.weight: its convrot_groupsize 256 does not divide its 128 "
              "input features");
    EXPECT_EQ(refusal([&] { find_quant_modules({}, {.assume_int8_group = 3}); }),
              " --assume-int8-group 3 is no power of four from 1 to 4096");
}

TEST_F(QuantRefusalTest, scales_that_do_not_fit) {
    const auto int8 = [&](const std::string & dtype, const std::vector<int64_t> & shape) {
        return refusal(
            TestModel().add("l.weight", "I8", {2, 4}).add("l.weight_scale", dtype, shape).marker("l", kInt8));
    };
    EXPECT_EQ(refusal(TestModel().add("l.weight", "I8", {2, 4}).marker("l", kInt8)),
              "E_SCALE_MISSING FILE: tensor l.weight: int8_tensorwise needs a tensor weight_scale beside it "
              "(the file is not "
              "complete: get it again)");
    EXPECT_EQ(refusal(w4a8("weight_s_rel")), "E_SCALE_MISSING FILE: tensor l.weight: asym_w4a8_int8 needs a "
                                             "tensor weight_s_rel beside it (the file is not "
                                             "complete: get it again)");
    EXPECT_EQ(refusal(w4a8("weight_s_channel")), "E_SCALE_MISSING FILE: tensor l.weight: asym_w4a8_int8 "
                                                 "needs a tensor weight_s_channel beside it (the file is "
                                                 "not complete: get it again)");
    EXPECT_EQ(int8("I32", {2}),
              "E_SCALE_DTYPE FILE: tensor l.weight_scale: is I32, not F32, F16, BF16 or F64");
    EXPECT_EQ(int8("F8_E4M3", {2}),
              "E_SCALE_DTYPE FILE: tensor l.weight_scale: is F8_E4M3, not F32, F16, BF16 or F64");
    EXPECT_EQ(refusal(w4a8("weight_s_rel").add("l.weight_s_rel", "F16", {2, 2})),
              "E_SCALE_DTYPE FILE: tensor l.weight_s_rel: is F16, not F8_E4M3, U8 or F32");
    const std::string shape = "; the weight [2, 4] needs [2] or [2, 1] or one element";
    const std::string start = "E_SCALE_SHAPE FILE: tensor l.weight_scale: has shape ";
    for (const std::vector<int64_t> & s : {std::vector<int64_t>{3}, {1, 2}, {2, 2}, {2, 1, 1}, {0}})
        EXPECT_EQ(int8("F32", s), start + shape_text(s) + shape);
    EXPECT_EQ(
        refusal(
            TestModel().add("l.weight", "I8", {2, 4}).add("l.weight_scale", "F32", {}).marker("l", kW4a4)),
        start + "[]; the weight [2, 4] needs [2] or [2, 1]");
    EXPECT_EQ(refusal(w4a8("weight_s_rel").add("l.weight_s_rel", "U8", {2, 4})),
              "E_SCALE_SHAPE FILE: tensor l.weight_s_rel: has shape [2, 4]; the weight [2, 16] needs [2, 2]");
    EXPECT_EQ(refusal(w4a8("weight_s_channel").add("l.weight_s_channel", "F32", {1})),
              "E_SCALE_SHAPE FILE: tensor l.weight_s_channel: has shape [1]; the weight [2, 16] needs [2] or "
              "[2, 1]");
}

TEST_F(QuantRefusalTest, parts_of_asym_w4a8_int8_that_do_not_fit) {
    const auto settings = [&](const char * json) { return refusal(w4a8("", json)); };
    EXPECT_EQ(
        settings(R"({"format":"asym_w4a8_int8","convrot_groupsize":4})"),
        "E_QUANT_GROUP FILE: tensor l.weight: its settings have no \"group_size\"; asym_w4a8_int8 needs 16");
    EXPECT_EQ(settings(R"({"format":"asym_w4a8_int8","convrot_groupsize":4,"group_size":32})"),
              "E_QUANT_GROUP FILE: tensor l.weight: its group_size is 32; asym_w4a8_int8 needs 16");
    EXPECT_EQ(refusal(TestModel().add("l.weight", "I8", {2, 4}).marker("l", kW4a8)),
              "E_QUANT_GROUP FILE: tensor l.weight: its 8 input features are no multiple of 16");
    EXPECT_EQ(refusal(w4a8("weight_codebook").add("l.weight_codebook", "F32", {8})),
              "E_CODEBOOK_SHAPE FILE: tensor l.weight_codebook: has shape [8], not [16]");
    EXPECT_EQ(refusal(w4a8("weight_codebook").add("l.weight_codebook", "I8", {16})),
              "E_CODEBOOK_DTYPE FILE: tensor l.weight_codebook: is I8, not F32, F16, BF16 or F64");
    EXPECT_EQ(
        refusal(w4a8("").add("l.weight_correction", "F32", {2, 2})),
        "E_CORRECTION FILE: tensor l.weight_correction: corrections of asymmetric layers are not supported");
}

TEST_F(QuantRefusalTest, biases_that_do_not_fit) {
    EXPECT_EQ(refusal(int8_layer(2, 4, kInt8).add("l.bias", "F32", {3})),
              "E_BIAS FILE: tensor l.bias: is F32 [3], not 2 floats");
    EXPECT_EQ(refusal(int8_layer(2, 4, kInt8).add("l.bias", "I32", {2})),
              "E_BIAS FILE: tensor l.bias: is I32 [2], not 2 floats");
    EXPECT_EQ(refusal(int8_layer(2, 4, kInt8).add("l.bias", "F8_E4M3", {2})),
              "E_BIAS FILE: tensor l.bias: is F8_E4M3 [2], not 2 floats");
}

TEST_F(QuantRefusalTest, a_build_without_operators_runs_8_bit_floats_only) {
    const std::string line =
        "E_UPSTREAM_BUILD FILE: tensor l.weight: this build cannot run INT8 and INT4 layers, as its ggml "
        "has no operator extensions (use a build with the ggml of this project)";
    EXPECT_EQ(refusal(int8_layer(2, 4, kInt8), {.has_operators = false}), line);
    EXPECT_EQ(refusal(int8_layer(2, 4, ""), {.has_operators = false}), line);
    EXPECT_EQ(
        refusal(TestModel().add("l.weight", "F8_E5M2", {2, 4}).marker("l", R"({"format":"float8_e5m2"})"),
                {.has_operators = false}),
        "");
}

} // namespace
} // namespace sd
