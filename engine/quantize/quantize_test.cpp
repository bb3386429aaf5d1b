// What a quantized file holds.
#include "quantize/test_quantize.h"

#include "checkpoint/pytorch/test_files.h"
#include "inspect/report.h"
#include "quantize/codebook.h"
#include "quantize/verify.h"

#include <nlohmann/json.hpp>

namespace sd {
namespace {

using test::ReferenceRow;
using test::refusal_of;
using test::TestModel;

class Quantize : public test::QuantizeTest {
  protected:
    // All rows of a layer against the plain reference.
    void expect_rows(const Checkpoint & out, const std::string & name, const std::string & format, int group,
                     int64_t n, int64_t k) const {
        const std::vector<int8_t> stored_codes = codes(out, name + ".weight");
        const bool packed = format.starts_with("w4");
        const std::vector<float> scale =
            read_floats(out, out.get(name + (format == "w4a8" ? ".weight_s_channel" : ".weight_scale")));
        for (int64_t row = 0; row < n; ++row) {
            const std::vector<float> w = row_of(name + ".weight", row, k);
            const ReferenceRow expected = format == "w4a8"   ? test::w4a8_row(w, group, kGaussianLevels)
                                          : format == "w4a4" ? test::w4a4_row(w, group)
                                                             : test::int8_row(w, group);
            EXPECT_NEAR(scale[size_t(row)] / expected.scale, 1, format == "w4a8" ? 1e-6 : 0) << name;
            for (int64_t i = 0; i < k; ++i) {
                const int expected_code = expected.codes[size_t(i)];
                if (!packed) {
                    ASSERT_EQ(stored_codes[size_t(row * k + i)], expected_code)
                        << name << " " << row << " " << i;
                } else {
                    const int byte = uint8_t(stored_codes[size_t(row * k + i) / 2]);
                    ASSERT_EQ(i % 2 == 0 ? byte & 15 : byte >> 4, expected_code & 15)
                        << name << " " << row << " " << i;
                }
            }
        }
    }
};

TEST_F(Quantize, every_format_writes_the_codes_and_scales_of_its_formulas) {
    put_weights(
        "in.safetensors",
        {{"a.weight", 6, 512}, {"b.weight", 5, 64, StoredType::f32}, {"c.weight", 3, 48, StoredType::f16}});
    for (const std::string format : {"int8", "int8-convrot", "w4a4", "w4a8"}) {
        quantized("in.safetensors", request(format + ".safetensors", format));
        const Checkpoint out = open(path(format + ".safetensors"));
        expect_rows(out, "a", format, format == "int8" ? 1 : 256, 6, 512);
        expect_rows(out, "b", format, format == "int8" ? 1 : 64, 5, 64);
        expect_rows(out, "c", format, format == "int8" ? 1 : 16, 3, 48);
    }
}

TEST_F(Quantize, names_types_shapes_and_settings_are_those_of_the_official_files) {
    put_weights("in.safetensors", {{"l.weight", 4, 256}});
    const std::pair<const char *, const char *> expected[] = {
        {"int8", "l.weight_scale F32 [4, 1], l.weight I8 [4, 256], l.comfy_quant U8 [29]"},
        {"int8-convrot", "l.weight_scale F32 [4, 1], l.weight I8 [4, 256], l.comfy_quant U8 [72]"},
        {"w4a4", "l.weight_scale F32 [4], l.weight I8 [4, 128], l.comfy_quant U8 [52]"},
        {"w4a8", "l.weight_s_channel F32 [4], l.weight_codebook F32 [16], l.weight I8 [4, 128], "
                 "l.weight_s_rel F8_E4M3 [4, 16], l.comfy_quant U8 [72]"}};
    const std::map<std::string, std::string> settings = {
        {"int8", R"({"format": "int8_tensorwise"})"},
        {"int8-convrot", R"({"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 256})"},
        {"w4a4", R"({"format": "convrot_w4a4", "convrot_groupsize": 256})"},
        {"w4a8", R"({"format": "asym_w4a8_int8", "group_size": 16, "convrot_groupsize": 256})"}};
    for (const auto & [format, tensors] : expected) {
        quantized("in.safetensors", request(std::string(format) + ".safetensors", format));
        EXPECT_EQ(list(std::string(format) + ".safetensors"), tensors);
        EXPECT_EQ(stored(open(path(std::string(format) + ".safetensors")), "l.comfy_quant"),
                  settings.at(format));
    }
}

TEST_F(Quantize, everything_else_is_copied_and_metadata_stay) {
    put_weights("in.safetensors", {{"l.weight", 4, 64}},
                {{"l.bias", StoredType::bf16, {4}},
                 {"conv.weight", StoredType::f16, {2, 3, 5, 5}},
                 {"table", StoredType::i64, {3}},
                 {"empty", StoredType::f32, {0, 7}},
                 {"scalar", StoredType::f64, {}},
                 {"norm.weight", StoredType::f32, {9}}},
                {{"format", "pt"}, {"license", "größe \"1\""}});
    const QuantizeReport report = quantized("in.safetensors", request("out.safetensors", "int8-convrot"));
    const Checkpoint in = open(path("in.safetensors")), out = open(path("out.safetensors"));
    EXPECT_EQ(out.tensors().size(), in.tensors().size() + 2);
    for (const TensorInfo & t : in.tensors()) {
        if (t.name == "l.weight") continue;
        EXPECT_EQ(out.get(t.name).type, t.type) << t.name;
        EXPECT_EQ(out.get(t.name).shape, t.shape) << t.name;
        EXPECT_TRUE(stored(out, t.name) == stored(in, t.name)) << t.name;
        EXPECT_EQ(out.get(t.name).offset % run_bytes(t.type, 1), 0u) << t.name;
    }
    EXPECT_EQ(out.files()[0].container.metadata, in.files()[0].container.metadata);
    ASSERT_EQ(report.kept.size(), 1u);
    EXPECT_EQ(report.kept[0].name + ": " + report.kept[0].why, "conv: is no matrix: shape [2, 3, 5, 5]");
}

TEST_F(Quantize, the_group_is_the_largest_power_of_four_up_to_256_that_divides_the_inputs) {
    put_weights("in.safetensors", {{"a.weight", 8, 1024},
                                   {"b.weight", 8, 192},
                                   {"c.weight", 8, 3360},
                                   {"d.weight", 8, 840},
                                   {"e.weight", 1, 12},
                                   {"f.weight", 8, 6}});
    const QuantizeReport report = quantized("in.safetensors", request("out.safetensors", "int8-convrot"));
    std::string groups;
    for (const QuantizedLayer & l : report.layers) groups += l.name + std::to_string(l.group) + " ";
    EXPECT_EQ(groups, "a256 b64 c16 d4 e4 ");
    ASSERT_EQ(report.kept.size(), 1u);
    EXPECT_EQ(report.kept[0].name + ": " + report.kept[0].why,
              "f: no power of four from 4 to 256 divides its 6 input features");
    ASSERT_EQ(report.warnings.size(), 1u);
    EXPECT_EQ(report.warnings[0],
              "f.weight: no power of four from 4 to 256 divides its 6 input features; it stays BF16");
    QuantizeRequest r = request("out2.safetensors", "int8-convrot");
    r.selection.group = 16;
    r.selection.exclude = "d,e,f";
    for (const QuantizedLayer & l : quantized("in.safetensors", r).layers) EXPECT_EQ(l.group, 16) << l.name;
}

TEST_F(Quantize, the_engine_reads_what_is_written_with_the_reported_errors) {
    put_weights("in.safetensors", {{"blocks.0.up.weight", 40, 768}, {"blocks.1.up.weight", 24, 320}});
    const std::pair<const char *, double> formats[] = {
        {"int8", 0.04}, {"int8-convrot", 0.012}, {"w4a4", 0.2}, {"w4a8", 0.1}};
    for (const auto & [format, most] : formats) {
        QuantizeRequest r = request(std::string(format) + ".safetensors", format);
        r.verify = true;
        const QuantizeReport report = quantized("in.safetensors", r);
        const Checkpoint out = open(r.output);
        const QuantModules found = find_quant_modules(out);
        ASSERT_EQ(report.layers.size(), 2u);
        for (const QuantizedLayer & l : report.layers) {
            const QuantModule & m = module_of(found, l.name);
            std::vector<float> w(size_t(m.n * m.k));
            read_dequantized(out, m, GGML_TYPE_F32, w.data());
            double error = 0, size = 0;
            const std::vector<float> & original = values_.at(l.name + ".weight");
            for (size_t i = 0; i < w.size(); ++i) {
                error += std::pow(double(w[i]) - double(original[i]), 2);
                size += std::pow(double(original[i]), 2);
            }
            EXPECT_NEAR(l.error, std::sqrt(error / size), 1e-4 * l.error) << format;
            EXPECT_NEAR(l.verified.value_or(-1), l.error, 1e-3 * l.error) << format;
            EXPECT_LT(l.error, most) << format;
            EXPECT_GT(l.error, most / 4) << format;
        }
        const InspectReport seen = inspect(out, {});
        EXPECT_EQ(seen.formats.at(0).format, quant_format_name(quant_format_of(*layer_format(format))));
        EXPECT_EQ(seen.formats.at(0).parameters + (seen.formats.size() > 1 ? seen.formats[1].parameters : 0),
                  40 * 768 + 24 * 320);
    }
}

TEST_F(Quantize, the_file_and_the_report_are_the_same_for_any_number_of_threads) {
    // Several pieces for the first layer, several layers in flight.
    put_weights("in.safetensors",
                {{"a.weight", 700, 2048}, {"b.weight", 33, 256}, {"c.weight", 9, 64}, {"d.weight", 65, 512}},
                {{"n", StoredType::f32, {3000}}});
    for (const char * format : {"int8-convrot", "w4a8"}) {
        std::string first, first_report;
        for (const int threads : {1, 2, 7}) {
            QuantizeRequest r = request("out" + std::to_string(threads) + ".safetensors", format);
            r.threads = threads;
            r.replace = true;
            QuantizeReport report = quantized("in.safetensors", r);
            report.output.clear();
            report.seconds = 0;
            const std::string file = bytes("out" + std::to_string(threads) + ".safetensors");
            if (threads == 1) first = file, first_report = report_json(report);
            EXPECT_TRUE(file == first) << format << " " << threads;
            EXPECT_EQ(report_json(report), first_report);
        }
    }
}

TEST_F(Quantize, scaled_8_bit_floats_are_an_input) {
    TestModel model;
    std::string codes_of;
    std::vector<float> original;
    for (int i = 0; i < 8 * 64; ++i) codes_of += char(i * 37 % 0x78);
    model.add("l.weight", "F8_E4M3", {8, 64}, codes_of).floats("l.weight_scale", {}, {0.25f});
    model.add("l.input_scale", "F32", {}).add("scaled_fp8", "F8_E4M3", {0}, "");
    model.add("k.weight", "F8_E4M3", {2, 64}, codes_of.substr(0, 128)).floats("k.weight_scale", {}, {0.5f});
    model.header(
        R"({"format_version":"1.0","layers":{"l":{"format":"float8_e4m3fn"},"k":{"format":"float8_e4m3fn"}}})");
    put_model("in.safetensors", model);
    QuantizeRequest r = request("out.safetensors", "int8-convrot");
    r.selection.exclude = "k";
    r.verify = true;
    const QuantizeReport report = quantized("in.safetensors", r);
    ASSERT_EQ(report.layers.size(), 1u);
    EXPECT_EQ(report.layers[0].from, "F8_E4M3");
    const Checkpoint in = open(path("in.safetensors")), out = open(path("out.safetensors"));
    const QuantModules before = find_quant_modules(in), after = find_quant_modules(out);
    ASSERT_EQ(after.modules.size(), 2u);
    EXPECT_EQ(module_of(after, "k").format, QuantFormat::float8_e4m3fn);
    EXPECT_EQ(stored(out, "k.weight"), stored(in, "k.weight"));
    EXPECT_EQ(out.find("l.input_scale"), nullptr);
    const QuantModule & l = module_of(after, "l");
    EXPECT_EQ(l.format, QuantFormat::int8_tensorwise);
    std::vector<float> w(8 * 64), v(8 * 64);
    read_dequantized(in, module_of(before, "l"), GGML_TYPE_F32, w.data());
    read_dequantized(out, l, GGML_TYPE_F32, v.data());
    const auto rms = value_error(w.data(), v.data(), 8 * 64);
    EXPECT_LT(rms.relative(), 0.01);
    EXPECT_GT(rms.size, 0);
}

TEST_F(Quantize, gguf_and_pytorch_files_are_an_input_also_with_strides) {
    namespace torch = pytorch::test;
    put_weights("in.safetensors", {{"l.weight", 8, 64, StoredType::f16}});
    ASSERT_EQ(run("in.safetensors", "in.gguf"), "");
    quantized("in.gguf", request("gguf.safetensors", "int8-convrot"));
    expect_rows(open(path("gguf.safetensors")), "l", "int8-convrot", 64, 8, 64);

    std::vector<float> transposed;
    values_["t.weight"] = test::Numbers(4).row(6 * 64);
    for (size_t i = 0; i < 6 * 64; ++i) transposed.push_back(values_["t.weight"][i % 6 * 64 + i / 6]);
    put("in.pt",
        torch::torch_zip(torch::table({{"t.weight", {"0", "FloatStorage", 6 * 64, 0, {6, 64}, {1, 6}}}}),
                         {test::bytes_of(transposed)}));
    QuantizeRequest r = request("pt.safetensors", "w4a4");
    r.verify = true;
    quantized("in.pt", r);
    expect_rows(open(path("pt.safetensors")), "t", "w4a4", 64, 6, 64);
}

TEST_F(Quantize, settings_can_be_in_the_header_too_beside_those_that_were_there) {
    TestModel model = test::int8_layer(16, 16, "");
    model.header(R"({"format_version":"1.0","layers":{"l":{"format":"int8_tensorwise"}}})");
    model.floats("m.weight", {2, 16}, std::vector<float>(32, 0.5f));
    put_model("in.safetensors", model);
    QuantizeRequest r = request("out.safetensors", "w4a4");
    r.selection.exclude = "l";
    r.header_settings = true;
    quantized("in.safetensors", r);
    const Checkpoint out = open(path("out.safetensors"));
    const auto header = nlohmann::json::parse(out.files()[0].container.metadata.at("_quantization_metadata"));
    EXPECT_EQ(header["layers"]["l"]["format"], "int8_tensorwise");
    EXPECT_EQ(header["layers"]["m"], nlohmann::json::parse(stored(out, "m.comfy_quant")));
    EXPECT_EQ(find_quant_modules(out).modules.size(), 2u);
}

TEST_F(Quantize, parts_in_several_files_become_one_file_with_the_names_of_the_engine) {
    put_weights("dit.safetensors", {{"blocks.0.a.weight", 8, 64}});
    put_weights("llm.safetensors", {{"model.layers.0.self_attn.q_proj.weight", 8, 64}});
    Checkpoint both;
    both.add(path("dit.safetensors"), Component::diffusion);
    both.add(path("llm.safetensors"), Component::llm);
    quantize(both, request("out.safetensors", "int8-convrot"));
    const Checkpoint out = open(path("out.safetensors"));
    const QuantModules found = find_quant_modules(out);
    std::string names;
    for (const QuantModule & m : found.modules) names += m.name + " ";
    EXPECT_EQ(names, "model.diffusion_model.blocks.0.a text_encoders.llm.layers.0.self_attn.q_proj ");
}

TEST_F(Quantize, a_blank_marker_beside_a_float_weight_makes_room) {
    TestModel model;
    model.floats("l.weight", {2, 16}, std::vector<float>(32, 0.5f)).add("l.comfy_quant", "U8", {4}, "    ");
    put_model("in.safetensors", model);
    quantized("in.safetensors", request("out.safetensors", "int8"));
    EXPECT_EQ(list("out.safetensors"),
              "l.weight_scale F32 [2, 1], l.weight I8 [2, 16], l.comfy_quant U8 [29]");
}

TEST_F(Quantize, rows_of_zeros_and_single_values_come_out_exact) {
    std::vector<float> w(4 * 16);
    std::fill(w.begin() + 16, w.begin() + 32, -0.75f); // a constant is its own rotation
    w[40] = 1e-20f;
    put_model("in.safetensors", TestModel().floats("l.weight", {4, 16}, w));
    for (const char * format : {"int8", "int8-convrot", "w4a4", "w4a8"}) {
        QuantizeRequest r = request(std::string(format) + ".safetensors", format);
        r.verify = true;
        quantized("in.safetensors", r);
        const Checkpoint out = open(r.output);
        std::vector<float> v(w.size());
        read_dequantized(out, find_quant_modules(out).modules.at(0), GGML_TYPE_F32, v.data());
        for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(v[i], w[i], i < 16 ? 1e-7 : 0.02) << format;
    }
}

TEST_F(Quantize, verifying_finds_bytes_that_changed) {
    put_weights("in.safetensors", {{"l.weight", 8, 64}}, {{"copy", StoredType::f32, {5}}});
    const Checkpoint in = open(path("in.safetensors"));
    const QuantModules quants = find_quant_modules(in);
    const Selection selection = select_layers(in, quants, request("", "int8-convrot").selection);
    const QuantizePlan plan = plan_quantization(in, quants, selection, false);
    std::vector<LayerResult> results;
    {
        PartFile out(path("out.safetensors"), false, plan.bytes, {});
        results = write_quantized(in, plan, {}, out);
        out.finish();
    }
    const std::string whole = bytes("out.safetensors");
    const auto refusal_after = [&](uint64_t at, char change) {
        std::string text = whole;
        text[size_t(at)] = char(text[size_t(at)] ^ change);
        put("bad.safetensors", text);
        return short_line(
            refusal_of([&] { verify_quantized(in, plan, results, {}, path("bad.safetensors")); }));
    };
    EXPECT_EQ(refusal_after(0, 0), "");
    const std::string advice = " (the disk or this program is faulty)";
    EXPECT_EQ(refusal_after(plan.copies.at(0).offset + 3, 1),
              "bad.safetensors: tensor copy: has other bytes than the tensor it is a copy of" + advice);
    EXPECT_NE(refusal_after(plan.layers[0].weight + 5, 64).find("tensor l.weight: its error is 0."),
              std::string::npos);
    EXPECT_NE(refusal_after(plan.layers[0].scale + 2, 16).find("tensor l.weight: its error is "),
              std::string::npos);
    // 64 becomes 16: another rotation.
    const size_t group = plan.layers[0].settings.find("64");
    std::string text = whole;
    text.replace(size_t(plan.layers[0].marker) + group, 2, "16");
    put("bad.safetensors", text);
    EXPECT_EQ(
        short_line(refusal_of([&] { verify_quantized(in, plan, results, {}, path("bad.safetensors")); })),
        "bad.safetensors: tensor l.weight: is a layer of another format, group or size" + advice);
}

} // namespace
} // namespace sd
