// What comes out of a conversion has the values that went in.
#include "convert/test_convert.h"

#include "checkpoint/pytorch/test_files.h"

namespace sd {
namespace {

using test::bytes_of;
using test::TestModel;

class Convert : public test::ConvertTest {};

constexpr StoredType kPlain[] = {
    StoredType::f64,     StoredType::i64,     StoredType::u64,     StoredType::f32,
    StoredType::i32,     StoredType::u32,     StoredType::f16,     StoredType::bf16,
    StoredType::i16,     StoredType::u16,     StoredType::i8,      StoredType::u8,
    StoredType::boolean, StoredType::f8_e4m3, StoredType::f8_e5m2, StoredType::f8_e8m0};

// Of every type, with some of the shapes that are special.
std::vector<TensorDeclaration> every_type() {
    std::vector<TensorDeclaration> tensors;
    for (const StoredType type : kPlain) tensors.push_back({std::string("t.") + type_name(type), type, {35}});
    tensors.push_back({"scalar", StoredType::f32, {}});
    tensors.push_back({"empty", StoredType::f32, {4, 0}});
    tensors.push_back({"conv", StoredType::bf16, {2, 3, 1, 5, 4}});
    tensors.push_back({"outer", StoredType::f16, {1, 1, 7}});
    return tensors;
}

double relative_error(const std::string & found, const std::string & expected) {
    double error = 0, size = 0;
    for (size_t i = 0; i < expected.size(); i += sizeof(float)) {
        float a, b;
        std::memcpy(&a, &found[i], sizeof a);
        std::memcpy(&b, &expected[i], sizeof b);
        error += double(a - b) * double(a - b);
        size += double(b) * double(b);
    }
    return std::sqrt(error / size);
}

TEST_F(Convert, an_unchanged_safetensors_file_comes_out_byte_for_byte) {
    put_model("in.safetensors", every_type(), {{"format", "pt"}, {"title", "größe \"1\""}});
    ASSERT_EQ(run("in.safetensors", "out.safetensors"), "");
    EXPECT_TRUE(bytes("out.safetensors") == bytes("in.safetensors"));
}

TEST_F(Convert, every_type_weights_can_have_is_what_reading_as_that_type_gives) {
    put_model("in.safetensors", {{"w", StoredType::f32, {5, 512}}, {"v", StoredType::f32, {512}}});
    const Checkpoint in = open(path("in.safetensors"));
    int types = 0;
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto type = ggml_type(i);
        if (!is_float_target(type)) continue;
        const std::string name = ggml_type_name(type);
        ++types;
        for (const char * output : {"out.gguf", "out.safetensors"}) {
            if (ggml_is_quantized(type) && std::string(output) != "out.gguf") continue;
            ASSERT_EQ(run(in, output, name), "") << name;
            const Checkpoint out = open(path(output));
            EXPECT_EQ(out.get("w").type, stored_type(type));
            EXPECT_EQ(out.get("w").shape, in.get("w").shape);
            EXPECT_EQ(stored(out, "w"), values(in, "w", type)) << name;
            EXPECT_EQ(out.get("v").type, ggml_is_quantized(type) ? StoredType::f32 : stored_type(type));
            const double bits = 8.0 * double(ggml_type_size(type)) / double(ggml_blck_size(type));
            const double bound = type == GGML_TYPE_F32 ? 0 : bits >= 8 ? 0.01 : std::exp2(1.7 - bits);
            EXPECT_LE(relative_error(values(out, "w", GGML_TYPE_F32), stored(in, "w")), bound) << name;
        }
    }
    EXPECT_GE(types, 13);
}

TEST_F(Convert, every_stored_type_has_the_same_values_in_a_gguf_file) {
    put_model("in.safetensors", every_type());
    ASSERT_EQ(run("in.safetensors", "out.gguf", "", "F8_E[45]=bf16"), "");
    const Checkpoint in = open(path("in.safetensors")), out = open(path("out.gguf"));
    ASSERT_EQ(out.tensors().size(), in.tensors().size());
    for (const TensorInfo & t : in.tensors()) {
        const TensorInfo & found = out.get(t.name);
        EXPECT_EQ(found.shape, t.shape.empty() ? std::vector<int64_t>{1} : t.shape) << t.name;
        EXPECT_EQ(ggml_type_of(t.type).value_or(ggml_type(found.type)), ggml_type(found.type)) << t.name;
        EXPECT_EQ(values(out, t.name, GGML_TYPE_F32), values(in, t.name, GGML_TYPE_F32)) << t.name;
    }
    EXPECT_EQ(out.get("t.U8").type, StoredType::i32);
    EXPECT_EQ(out.get("t.F8_E8M0").type, StoredType::f32);
}

TEST_F(Convert, there_and_back_is_the_same_where_no_type_is_narrower) {
    put_model("in.safetensors", {{"a", StoredType::f16, {3, 40}}, {"b.bias", StoredType::bf16, {40}}});
    ASSERT_EQ(run("in.safetensors", "one.gguf", "f32"), "");
    ASSERT_EQ(run("one.gguf", "two.safetensors", "f32"), "");
    ASSERT_EQ(run("two.safetensors", "three.gguf"), "");
    ASSERT_EQ(run("three.gguf", "four.safetensors", "f16"), "");
    EXPECT_EQ(list("one.gguf"), "a F32 [3, 40], b.bias BF16 [40]");
    EXPECT_EQ(stored(open(path("four.safetensors")), "a"), stored(open(path("in.safetensors")), "a"));
    EXPECT_EQ(stored(open(path("four.safetensors")), "b.bias"),
              stored(open(path("in.safetensors")), "b.bias"));
}

TEST_F(Convert, tensors_of_many_pieces_do_not_depend_on_threads) {
    put_model("in.safetensors", {{"big", StoredType::f16, {2051, 1024}},
                                 {"empty", StoredType::f16, {0, 32}},
                                 {"row", StoredType::f16, {1100003}},
                                 {"last", StoredType::f32, {7, 32}}});
    const Checkpoint in = open(path("in.safetensors"));
    for (const char * output : {".gguf", ".safetensors"}) {
        const std::string type = std::string(output) == ".gguf" ? "q4_0" : "f32";
        for (const int threads : {1, 2, 5})
            ASSERT_EQ(run(in, std::to_string(threads) + output, type, "", threads), "");
        EXPECT_TRUE(bytes(std::string("1") + output) == bytes(std::string("2") + output));
        EXPECT_TRUE(bytes(std::string("1") + output) == bytes(std::string("5") + output));
    }
    const Checkpoint blocks = open(path("2.gguf")), floats = open(path("2.safetensors"));
    EXPECT_TRUE(stored(blocks, "big") == values(in, "big", GGML_TYPE_Q4_0));
    EXPECT_TRUE(stored(blocks, "row") == stored(in, "row"));
    EXPECT_TRUE(stored(floats, "big") == values(in, "big", GGML_TYPE_F32));
    EXPECT_TRUE(stored(floats, "row") == values(in, "row", GGML_TYPE_F32));
    EXPECT_EQ(stored(blocks, "last"), values(in, "last", GGML_TYPE_Q4_0));
}

TEST_F(Convert, rules_go_before_the_type_and_excluded_names_stay) {
    put_model("in.safetensors", {{"a.weight", StoredType::f32, {2, 64}},
                                 {"b.weight", StoredType::f32, {2, 64}},
                                 {"b.bias", StoredType::f32, {64}},
                                 {"img_in.weight", StoredType::f32, {2, 64}},
                                 {"odd.weight", StoredType::f32, {2, 33}}});
    ASSERT_EQ(run("in.safetensors", "out.gguf", "q8_0", "^a=f16,^a=f32"), "");
    EXPECT_EQ(list("out.gguf"), "a.weight F16 [2, 64], b.weight q8_0 [2, 64], b.bias F32 [64], "
                                "img_in.weight F32 [2, 64], odd.weight F32 [2, 33]");
}

TEST_F(Convert, safetensors_stay_aligned_when_types_change) {
    put_model("in.safetensors", {{"a", StoredType::f32, {3}}, {"b.bias", StoredType::f32, {3}}});
    ASSERT_EQ(run("in.safetensors", "out.safetensors", "f16"), "");
    EXPECT_EQ(list("out.safetensors"), "b.bias F32 [3], a F16 [3]");
}

TEST_F(Convert, components_are_merged_under_their_prefixes) {
    put_model("dit.safetensors", {{"blocks.0.w", StoredType::f16, {2, 2}}}, {{"by", "x"}, {"a", "1"}});
    put_model("llm.safetensors", {{"model.layers.0.w", StoredType::f16, {2, 2}}}, {{"by", "y"}, {"b", "2"}});
    put_model("vae.safetensors", {{"decoder.w", StoredType::f32, {2, 2}}});
    Checkpoint three;
    three.add(path("dit.safetensors"), Component::diffusion);
    three.add(path("llm.safetensors"), Component::llm);
    three.add(path("vae.safetensors"), Component::vae);
    ASSERT_EQ(run(three, "out.safetensors"), "");
    EXPECT_EQ(list("out.safetensors"),
              "model.diffusion_model.blocks.0.w F16 [2, 2], text_encoders.llm.layers.0.w F16 [2, 2], "
              "vae.decoder.w F32 [2, 2]");
    const Checkpoint out = open(path("out.safetensors"));
    EXPECT_EQ(out.files()[0].container.metadata,
              (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}, {"by", "x"}}));
    for (const TensorInfo & t : three.tensors()) EXPECT_EQ(stored(out, t.name), stored(three, t.name));
}

TEST_F(Convert, one_component_keeps_the_names_of_its_file) {
    put_model("in.safetensors", {{"blocks.0.w", StoredType::f16, {2, 32}}});
    Checkpoint one;
    one.add(path("in.safetensors"), Component::diffusion);
    ASSERT_EQ(run(one, "out.gguf", "", "^model\\.diffusion_model\\.=q8_0"), "");
    EXPECT_EQ(list("out.gguf"), "blocks.0.w q8_0 [2, 32]"); // rules see the table's name
}

TEST_F(Convert, shards_become_one_file) {
    put_model("a.safetensors", {{"x", StoredType::f16, {2}}});
    put_model("b.safetensors", {{"y", StoredType::f16, {2}}});
    put("m.safetensors.index.json", R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors"}})");
    ASSERT_EQ(run("m.safetensors.index.json", "out.safetensors"), "");
    EXPECT_EQ(list("out.safetensors"), "x F16 [2], y F16 [2]");
}

TEST_F(Convert, elements_with_strides_come_out_in_the_order_of_the_shape) {
    namespace torch = pytorch::test;
    const std::vector<float> data = {0, 1, 2, 3, 4, 5};
    put("in.pt", torch::torch_zip(torch::table({{"w", {"0", "FloatStorage", 6, 0, {3, 2}, {1, 3}}}}),
                                  {bytes_of(data)}));
    ASSERT_EQ(run("in.pt", "out.safetensors"), "");
    EXPECT_EQ(stored(open(path("out.safetensors")), "w"), bytes_of<float>({0, 3, 1, 4, 2, 5}));
}

TEST_F(Convert, progress_counts_to_the_end) {
    put_model("in.safetensors", {{"w", StoredType::f32, {3000000}}});
    ConvertRequest request;
    request.output = path("out.safetensors");
    request.type = "f16";
    uint64_t last = 1, calls = 0;
    bool rising = true;
    std::string phases;
    request.progress = [&](const char * what, uint64_t done, uint64_t total) {
        if (std::string(what) == "saving") {
            phases += std::to_string(done) + "/" + std::to_string(total) + " ";
            return true;
        }
        rising = rising && total == 6000000 && (calls == 0 ? done == 0 : done > last);
        last = done;
        return ++calls > 0;
    };
    convert(open(path("in.safetensors")), request);
    EXPECT_TRUE(rising);
    EXPECT_EQ(last, 6000000u);
    EXPECT_EQ(calls, 4u);
    EXPECT_EQ(phases, "0/6000000 6000000/6000000 ");
}

} // namespace
} // namespace sd
