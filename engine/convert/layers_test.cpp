// Quantized layers: those that stay, and those that become plain weights.
#include "convert/test_convert.h"

#include "checkpoint/type_rules.h"
#include "checkpoint/values/dequantize.h"

#include <nlohmann/json.hpp>

namespace sd {
namespace {

using test::bytes_of;
using test::TestModel;

class ConvertLayers : public test::ConvertTest {
  protected:
    static QuantModules modules(const Checkpoint & checkpoint) { return find_quant_modules(checkpoint); }
    std::string settings(const std::string & file) const {
        const auto metadata = open(path(file)).files()[0].container.metadata;
        const auto found = metadata.find("_quantization_metadata");
        return found != metadata.end() ? found->second : "";
    }
};

constexpr const char * kInt8 = R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":16})";
constexpr const char * kFloat8 = R"({"format":"float8_e4m3fn"})";

// A scaled 8-bit layer of codes 0 to 2 and a scale of 0.75.
TestModel & add_float8(TestModel & model, const std::string & name, int n, int k) {
    std::string codes;
    for (int i = 0; i < n * k; ++i) codes += char(i % 65);
    return model.add(name + ".weight", "F8_E4M3", {n, k}, codes).floats(name + ".weight_scale", {}, {0.75f});
}

TEST_F(ConvertLayers, int8_layers_stay_with_settings_scales_and_header) {
    TestModel model = test::int8_layer(16, 32, kInt8);
    model.floats("l.bias", {16}, std::vector<float>(16, 0.5f)).add("w", "F32", {2, 32});
    model.header(R"({"format_version": "1.0", "layers": {"l": )" + std::string(kInt8) + "}}");
    put_model("in.safetensors", model);
    ASSERT_EQ(run("in.safetensors", "same.safetensors"), "");
    const Checkpoint in = open(path("in.safetensors")), same = open(path("same.safetensors"));
    EXPECT_EQ(list("same.safetensors"), list("in.safetensors"));
    for (const TensorInfo & t : in.tensors()) EXPECT_EQ(stored(same, t.name), stored(in, t.name)) << t.name;
    EXPECT_EQ(settings("same.safetensors"), settings("in.safetensors"));

    ASSERT_EQ(run("in.safetensors", "f16.safetensors", "f16"), "");
    const Checkpoint f16 = open(path("f16.safetensors"));
    for (const TensorInfo & t : in.tensors()) {
        EXPECT_EQ(f16.get(t.name).type, t.name == "w" ? StoredType::f16 : t.type);
        EXPECT_EQ(stored(f16, t.name), t.name == "w" ? values(in, "w", GGML_TYPE_F16) : stored(in, t.name));
    }
    EXPECT_EQ(settings("f16.safetensors"), settings("in.safetensors"));
    EXPECT_EQ(modules(f16).modules.at(0).group, 16);
}

TEST_F(ConvertLayers, settings_in_headers_follow_their_layers_when_parts_are_merged) {
    const std::string one = R"({"layers":{"l":)" + std::string(kInt8) + R"(},"format_version":"1.0"})";
    put_model("dit.safetensors", test::int8_layer(16, 16, "").header(one));
    put_model("llm.safetensors", test::int8_layer(16, 64, "").header(one));
    Checkpoint two;
    two.add(path("dit.safetensors"), Component::diffusion);
    two.add(path("llm.safetensors"), Component::llm);
    ASSERT_EQ(run(two, "out.safetensors"), "");
    const QuantModules before = modules(two);
    const Checkpoint out = open(path("out.safetensors"));
    const QuantModules after = modules(out);
    ASSERT_EQ(after.modules.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(after.modules[i].name, before.modules[i].name);
        EXPECT_EQ(after.modules[i].k, before.modules[i].k);
        EXPECT_EQ(after.modules[i].settings_from, "header");
    }
    EXPECT_EQ(nlohmann::json::parse(settings("out.safetensors")).at("format_version"), "1.0");
}

TEST_F(ConvertLayers, scaled_floats_stay_without_a_type) {
    TestModel model;
    put_model("in.safetensors", add_float8(model, "l", 2, 32).marker("l", kFloat8));
    ASSERT_EQ(run("in.safetensors", "out.safetensors"), "");
    EXPECT_EQ(list("out.safetensors"), list("in.safetensors"));
}

TEST_F(ConvertLayers, scaled_floats_become_plain_weights_of_the_type) {
    TestModel model;
    add_float8(model, "l", 3, 32).marker("l", kFloat8).floats("l.input_scale", {}, {1});
    add_float8(model, "img_in", 3, 32).marker("img_in", kFloat8);
    put_model("in.safetensors", model.floats("l.bias", {3}, {1, 2, 3}));
    const Checkpoint in = open(path("in.safetensors"));
    const QuantModules found = modules(in);
    for (const char * type : {"f32", "bf16", "q8_0"}) {
        ASSERT_EQ(run("in.safetensors", "out.gguf", type), "");
        const Checkpoint out = open(path("out.gguf"));
        std::string expected(out.get("l.weight").bytes, '\0');
        read_dequantized(in, found.modules.at(1), weight_type(type), expected.data());
        EXPECT_EQ(stored(out, "l.weight"), expected) << type;
        EXPECT_EQ(out.get("img_in.weight").type, StoredType::bf16); // excluded, but GGUF has no such layers
        EXPECT_EQ(out.tensors().size(), 3u);
    }
    ASSERT_EQ(run("in.safetensors", "out.safetensors", "f16"), "");
    const Checkpoint out = open(path("out.safetensors"));
    EXPECT_EQ(out.get("l.weight").type, StoredType::f16);
    EXPECT_EQ(out.find("l.weight_scale"), nullptr);
    EXPECT_EQ(out.find("l.comfy_quant"), nullptr);
    EXPECT_EQ(out.find("l.input_scale"), nullptr);
    EXPECT_EQ(modules(out).modules.size(), 1u); // the excluded one is as it was
}

TEST_F(ConvertLayers, settings_of_layers_that_became_plain_are_gone_from_the_header) {
    TestModel model = test::int8_layer(16, 16, "");
    model.header(R"({"layers":{"l":)" + std::string(kInt8) + R"(,"f":)" + kFloat8 + "}}");
    put_model("in.safetensors", add_float8(model, "f", 2, 32));
    ASSERT_EQ(run("in.safetensors", "out.safetensors", "bf16"), "");
    EXPECT_EQ(nlohmann::json::parse(settings("out.safetensors")),
              nlohmann::json::parse(R"({"layers":{"l":)" + std::string(kInt8) + "}}"));
    TestModel only;
    only.header(R"({"layers":{"f":)" + std::string(kFloat8) + "}}");
    put_model("only.safetensors", add_float8(only, "f", 2, 32));
    ASSERT_EQ(run("only.safetensors", "out.safetensors", "bf16"), "");
    EXPECT_EQ(settings("out.safetensors"), "");
    EXPECT_TRUE(modules(open(path("out.safetensors"))).modules.empty());
}

TEST_F(ConvertLayers, the_mark_of_scaled_files_goes_with_the_last_scaled_layer) {
    TestModel model;
    for (const char * name : {"a", "b"})
        model.add(std::string(name) + ".weight", "F8_E4M3", {2, 32}, std::string(64, '\x38'))
            .floats(std::string(name) + ".scale_weight", {}, {2});
    put_model("in.safetensors", model.add("scaled_fp8", "F8_E4M3", {2}));
    ASSERT_EQ(run("in.safetensors", "one.safetensors", "", "^a=f16"), "");
    EXPECT_EQ(
        list("one.safetensors"),
        "a.weight F16 [2, 32], b.weight F8_E4M3 [2, 32], b.scale_weight F32 [], scaled_fp8 F8_E4M3 [2]");
    ASSERT_EQ(run("in.safetensors", "none.safetensors", "f16"), "");
    EXPECT_EQ(list("none.safetensors"), "a.weight F16 [2, 32], b.weight F16 [2, 32]");
    EXPECT_EQ(stored(open(path("none.safetensors")), "b.weight"),
              bytes_of(std::vector<uint16_t>(64, 0x4000)));
}

TEST_F(ConvertLayers, scaled_layers_of_many_pieces_keep_their_rows) {
    TestModel model;
    std::vector<float> scales(1200);
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = float(i + 1) / 1024;
    std::string codes(1200 * 1024, '\x38'); // 1
    model.add("l.weight", "F8_E4M3", {1200, 1024}, codes).floats("l.weight_scale", {1200, 1}, scales);
    put_model("in.safetensors", model.marker("l", kFloat8));
    ASSERT_EQ(run("in.safetensors", "out.safetensors", "f32"), "");
    const std::string out = stored(open(path("out.safetensors")), "l.weight");
    std::vector<float> expected;
    for (const float scale : scales) expected.insert(expected.end(), 1024, scale);
    EXPECT_TRUE(out == bytes_of(expected));
}

} // namespace
} // namespace sd
