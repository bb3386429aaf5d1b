// Adapters that are merged before quantizing: the file is the one of the sum, and nothing is merged where it
// would be lost.
#include "models/krea2/config.h"
#include "quantize/test_quantize.h"

namespace sd {
namespace {

namespace fs = std::filesystem;

class QuantizeMerge : public test::QuantizeTest {
  protected:
    using Values = std::map<std::string, std::vector<float>>;

    static constexpr Krea2Config kConfig = {64, 16, 16, 16, 4, 2, 96, 2, 32, 16, 2, 1, 48, 2, 1, 1, 32};
    static constexpr const char * kLayer = "blocks.0.attn.wq.weight";
    static constexpr const char * kStays = "first.weight";
    static constexpr const char * kNorm = "blocks.0.attn.qknorm.qnorm.scale";

    // A diffusion model whose values are multiples of 1/1024, so that sums with small ones are exact.
    std::string put_krea2(const std::string & file, StoredType type, const Values & instead = {}) {
        std::vector<TensorDeclaration> tensors;
        for (const ExpectedTensor & t : krea2_tensors(kConfig)) tensors.push_back({t.name, type, t.shape});
        SafetensorsWriter writer(path(file), tensors, {});
        test::Numbers numbers(3);
        for (const TensorDeclaration & t : tensors) {
            std::vector<float> values = numbers.row(int64_t(*tensor_bytes(StoredType::u8, t.shape)));
            for (float & v : values) v = std::nearbyint(v * 32) / 1024;
            const auto found = instead.find(t.name);
            values_[t.name] = found != instead.end() ? found->second : values;
            std::string bytes(run_bytes(type, int64_t(values.size())), '\0');
            from_floats(values_[t.name].data(), int64_t(values.size()), *ggml_type_of(type), bytes.data());
            writer.write(bytes.data(), bytes.size());
        }
        writer.finish();
        return path(file);
    }

    std::string put_adapter(const std::string & file,
                            const std::vector<std::pair<TensorDeclaration, std::vector<float>>> & tensors) {
        std::vector<TensorDeclaration> declarations;
        for (const auto & [t, values] : tensors) declarations.push_back(t);
        SafetensorsWriter writer(path(file), declarations, {});
        for (const auto & [t, values] : tensors) writer.write(values.data(), values.size() * sizeof(float));
        writer.finish();
        return path(file);
    }

    // Of rank 1, a matrix that is not quantized, and a norm.
    std::string put_usual_adapter() {
        return put_adapter(
            "a.safetensors",
            {{{"diffusion_model.blocks.0.attn.wq.lora_A.weight", StoredType::f32, {1, 64}},
              std::vector<float>(64, 0.25f)},
             {{"diffusion_model.blocks.0.attn.wq.lora_B.weight", StoredType::f32, {64, 1}},
              std::vector<float>(64, 0.125f)},
             {{"diffusion_model.first.diff", StoredType::f32, {64, 64}}, std::vector<float>(64 * 64, 0.5f)},
             {{"diffusion_model.elsewhere.diff", StoredType::f32, {2}}, {1, 2}}});
    }

    QuantizeRequest merging(const std::string & output, const std::string & adapter, float strength,
                            const std::string & format = "int8-convrot") const {
        QuantizeRequest r = request(output, format);
        r.adapters = {{adapter, strength}};
        return r;
    }
};

TEST_F(QuantizeMerge, the_file_is_that_of_the_sum) {
    put_krea2("in.safetensors", StoredType::f32);
    Values sum = {{kLayer, values_.at(kLayer)}, {kStays, values_.at(kStays)}};
    const std::string adapter = put_usual_adapter();
    for (float & v : sum[kLayer]) v += 0.5f * 0.125f * 0.25f;
    for (float & v : sum[kStays]) v += 0.5f * 0.5f;
    put_krea2("sum.safetensors", StoredType::f32, sum);
    for (const char * format : {"int8", "int8-convrot", "w4a8", "w4a4"}) {
        QuantizeRequest r = merging("out.safetensors", adapter, 0.5f, format);
        r.verify = true;
        r.replace = true;
        r.scale_search = std::string(format) == "w4a8";
        const QuantizeReport report = quantized("in.safetensors", r);
        QuantizeRequest plain = r;
        plain.adapters.clear();
        plain.output = path("expected.safetensors");
        quantized("sum.safetensors", plain);
        EXPECT_TRUE(bytes("out.safetensors") == bytes("expected.safetensors")) << format;
        ASSERT_EQ(report.adapters.size(), 1u);
        EXPECT_EQ(report.adapters[0].changed, 2u);
        EXPECT_EQ(report.adapters[0].unmatched, std::vector<std::string>{"diffusion_model.elsewhere.diff"});
        r.threads = 1;
        r.output = path("one.safetensors");
        quantized("in.safetensors", r);
        EXPECT_TRUE(bytes("out.safetensors") == bytes("one.safetensors")) << format;
    }
}

TEST_F(QuantizeMerge, what_is_not_quantized_keeps_its_type_and_is_rounded_once) {
    put_krea2("in.safetensors", StoredType::bf16);
    const Checkpoint in = open(path("in.safetensors"));
    std::vector<float> sum(values_.at(kStays).size());
    read_values(in, in.get(kStays), GGML_TYPE_F32, {}, sum.data());
    for (float & v : sum) v += 0.3f * 0.5f;
    std::string expected(2 * sum.size(), '\0');
    from_floats(sum.data(), int64_t(sum.size()), GGML_TYPE_BF16, expected.data());
    QuantizeRequest r = merging("out.safetensors", put_usual_adapter(), 0.3f);
    r.verify = true;
    quantized("in.safetensors", r);
    const Checkpoint out = open(path("out.safetensors"));
    EXPECT_TRUE(stored(out, kStays) == expected);
    EXPECT_TRUE(stored(out, kNorm) == stored(in, kNorm));
}

TEST_F(QuantizeMerge, strengths_of_a_file_that_is_given_twice_add_up) {
    put_krea2("in.safetensors", StoredType::f32);
    QuantizeRequest r = merging("out.safetensors", put_usual_adapter(), 0.75f);
    r.adapters.push_back({r.adapters[0].path, -0.75f});
    quantized("in.safetensors", r);
    r.adapters.clear();
    r.output = path("without.safetensors");
    quantized("in.safetensors", r);
    EXPECT_TRUE(bytes("out.safetensors") == bytes("without.safetensors"));
}

TEST_F(QuantizeMerge, a_mix_is_chosen_for_the_sum) {
    put_krea2("in.safetensors", StoredType::f32);
    // One far value in each row: of the sum, not of the model.
    std::vector<float> spike(64 * 64);
    for (size_t i = 0; i < 64; ++i) spike[i * 64] = 1000;
    const std::string adapter =
        put_adapter("spike.safetensors", {{{"blocks.0.attn.wq.diff", StoredType::f32, {64, 64}}, spike}});
    QuantizeRequest r = merging("out.safetensors", adapter, 1.0f, "auto");
    r.budget.max_error = 0.05;
    const auto error_of = [&](const QuantizeReport & report) {
        for (const Choice::Layer & l : report.choice->layers) {
            if (l.name == "blocks.0.attn.wq") return l.candidates[1].sums.size;
        }
        return 0.0;
    };
    const double with = error_of(quantized("in.safetensors", r));
    r.adapters.clear();
    r.replace = true;
    EXPECT_GT(with, 1000 * error_of(quantized("in.safetensors", r)));
}

TEST_F(QuantizeMerge, a_journal_counts_for_the_same_adapters_only) {
    put_krea2("in.safetensors", StoredType::f32);
    const std::string adapter = put_usual_adapter();
    QuantizeRequest r = merging("out.safetensors", adapter, 0.5f);
    r.threads = 1;
    int calls = 0;
    r.progress = [&](const char * what, uint64_t, uint64_t) {
        return std::string_view(what) != "quantizing" || ++calls < 5;
    };
    EXPECT_NE(refusal_line("in.safetensors", r).find("cancelled"), std::string::npos);
    const std::string refused =
        "out.safetensors.part.journal: is about other options or another version of this "
        "program (to begin anew, remove it and the .part beside it)";
    EXPECT_EQ(refusal_line("in.safetensors", merging("out.safetensors", adapter, 0.25f)), refused);
    EXPECT_EQ(refusal_line("in.safetensors", request("out.safetensors", "int8-convrot")), refused);
    fs::last_write_time(adapter, fs::last_write_time(adapter) + std::chrono::seconds(2));
    EXPECT_EQ(refusal_line("in.safetensors", merging("out.safetensors", adapter, 0.5f)), refused);
    fs::last_write_time(adapter, fs::last_write_time(adapter) - std::chrono::seconds(2));
    quantized("in.safetensors", merging("out.safetensors", adapter, 0.5f));
    quantized("in.safetensors", merging("whole.safetensors", adapter, 0.5f));
    EXPECT_TRUE(bytes("out.safetensors") == bytes("whole.safetensors"));
}

TEST_F(QuantizeMerge, what_is_quantized_already_is_refused) {
    put_krea2("in.safetensors", StoredType::bf16);
    const std::string adapter = put_usual_adapter();
    quantized("in.safetensors", request("int8.safetensors", "int8-convrot"));
    // Also where it would stay as it is.
    QuantizeRequest r = merging("out.safetensors", adapter, 1.0f);
    r.selection.exclude = "blocks.*,txtfusion.*";
    r.selection.include = "first";
    EXPECT_EQ(refusal_line("int8.safetensors", r),
              "int8.safetensors: tensor blocks.0.attn.wq.weight: is quantized already (int8_tensorwise), and "
              "adapters are merged into floats (begin from the original in F32, F16, BF16 or scaled FP8)");
    EXPECT_FALSE(fs::exists(path("out.safetensors")));
}

TEST_F(QuantizeMerge, a_small_float_that_stays_is_refused_and_one_that_is_quantized_is_merged) {
    std::vector<TensorDeclaration> tensors;
    for (const ExpectedTensor & t : krea2_tensors(kConfig))
        tensors.push_back({t.name, t.name == kStays ? StoredType::f8_e4m3 : StoredType::bf16, t.shape});
    put_model("in.safetensors", tensors);
    QuantizeRequest r = merging("out.safetensors", put_usual_adapter(), 1.0f);
    EXPECT_EQ(
        refusal_line("in.safetensors", r),
        "in.safetensors: tensor first.weight: is changed by an adapter and stays F8_E4M3, which would lose "
        "most of it (quantize it, too: --include, or a rule)");
    r.selection.include = "first";
    r.verify = true;
    EXPECT_EQ(refusal_line("in.safetensors", r), "");
}

TEST_F(QuantizeMerge, adapters_that_cannot_be_merged_are_refused_and_nothing_is_left) {
    put_krea2("in.safetensors", StoredType::bf16);
    put_weights("other.safetensors", {{"l.weight", 64, 64}});
    const std::string adapter = put_usual_adapter();
    EXPECT_EQ(refusal_line("other.safetensors", merging("out.safetensors", adapter, 1.0f)),
              "other.safetensors: adapters are merged into Krea 2 and Qwen3-VL models, and this is neither");
    QuantizeRequest r = merging("a.safetensors", adapter, 1.0f);
    r.replace = true;
    EXPECT_EQ(refusal_line("in.safetensors", r),
              "a.safetensors: is an adapter that is read (choose another output)");
    EXPECT_EQ(refusal_line("in.safetensors", merging("out.safetensors", path("none.safetensors"), 1.0f)),
              "none.safetensors: No such file or directory");
    const std::string bias = put_adapter(
        "bias.safetensors", {{{"blocks.0.attn.wq.diff_b", StoredType::f32, {64}}, std::vector<float>(64)}});
    EXPECT_EQ(
        refusal_line("in.safetensors", merging("out.safetensors", bias, 1.0f)),
        "in.safetensors: tensor blocks.0.attn.wq.bias: is not there, and an adapter has a difference for it "
        "(merging adds no tensors)");
    EXPECT_FALSE(fs::exists(path("out.safetensors")));
    EXPECT_FALSE(fs::exists(path("out.safetensors.part")));
}

} // namespace
} // namespace sd
