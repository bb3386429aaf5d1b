// GGUF as input and output: pairs, shapes and padding.
#include "convert/test_convert.h"

#include "base/log.h"
#include "convert/gguf_start.h"
#include "ggml-cpp.h"
#include "gguf.h"

namespace sd {
namespace {

class ConvertGguf : public test::ConvertTest {
  protected:
    // One tensor [2, 64] "w" and whatever pairs `more` sets, by the runtime's own writer.
    std::string put_gguf(const std::string & name, ggml_type type,
                         const std::function<void(gguf_context *)> & more = {}) const {
        ggml_context_ptr ctx(ggml_init({1u << 16, nullptr, false}));
        gguf_context_ptr g(gguf_init_empty());
        ggml_tensor * t = ggml_new_tensor_2d(ctx.get(), type, 64, 2);
        ggml_set_name(t, "w");
        std::vector<float> values(128);
        for (size_t i = 0; i < values.size(); ++i) values[i] = float(i) / 64 - 1;
        EXPECT_EQ(from_floats(values.data(), 128, type, t->data), "");
        if (more) more(g.get());
        gguf_add_tensor(g.get(), t);
        EXPECT_TRUE(gguf_write_to_file(g.get(), path(name).c_str(), false));
        return path(name);
    }
    // "key=value" for pairs that are a text or a number, "key" for others, in the order of the file.
    std::string pairs(const std::string & file) const {
        gguf_context_ptr g(gguf_init_from_file(path(file).c_str(), {true, nullptr}));
        std::string text;
        for (int64_t i = 0; g && i < gguf_get_n_kv(g.get()); ++i) {
            if (i > 0) text += ' ';
            text += gguf_get_key(g.get(), i);
            if (gguf_get_kv_type(g.get(), i) == GGUF_TYPE_STRING)
                text.append("=").append(gguf_get_val_str(g.get(), i));
            if (gguf_get_kv_type(g.get(), i) == GGUF_TYPE_UINT32)
                text.append("=").append(std::to_string(gguf_get_val_u32(g.get(), i)));
        }
        return text;
    }

    // What `work` has to warn of.
    std::string warnings(const std::function<void()> & work) const {
        std::string log;
        const LogSink keep = [](LogLevel level, const char * text, void * data) {
            if (level == LogLevel::warn) *static_cast<std::string *>(data) += text;
        };
        set_log_sink(keep, &log);
        work();
        set_log_sink(nullptr, nullptr);
        return short_line(log);
    }
};

void set_pairs(gguf_context * g) {
    gguf_set_val_str(g, "general.architecture", "qwen3vl");
    gguf_set_val_u32(g, "general.file_type", 7);
    gguf_set_val_u32(g, "general.quantization_version", 2);
    gguf_set_val_u8(g, "u8", 1);
    gguf_set_val_i16(g, "i16", -2);
    gguf_set_val_f32(g, "f32", 0.1f);
    gguf_set_val_u64(g, "u64", UINT64_MAX);
    gguf_set_val_f64(g, "f64", 0.1);
    gguf_set_val_bool(g, "bool", true);
    const char * tokens[] = {"a", "", "größe"};
    gguf_set_arr_str(g, "tokenizer.ggml.tokens", tokens, 3);
    const int16_t numbers[] = {1, -1, 3};
    gguf_set_arr_data(g, "i16s", GGUF_TYPE_INT16, numbers, 3);
    gguf_set_arr_data(g, "none", GGUF_TYPE_FLOAT32, nullptr, 0);
}

TEST_F(ConvertGguf, an_unchanged_file_comes_out_byte_for_byte) {
    for (const uint32_t alignment : {32u, 128u}) {
        put_gguf("in.gguf", GGML_TYPE_Q8_0, [&](gguf_context * g) {
            gguf_set_val_u32(g, "general.alignment", alignment);
            set_pairs(g);
        });
        ASSERT_EQ(run("in.gguf", "out.gguf"), "");
        EXPECT_EQ(bytes("out.gguf"), bytes("in.gguf"));
    }
}

TEST_F(ConvertGguf, another_type_changes_the_pair_about_it_and_no_other) {
    put_gguf("in.gguf", GGML_TYPE_Q8_0, set_pairs);
    ASSERT_EQ(run("in.gguf", "out.gguf", "f16"), "");
    EXPECT_EQ(pairs("out.gguf"),
              "general.architecture=qwen3vl general.quantization_version=2 u8 i16 f32 u64 f64 bool "
              "tokenizer.ggml.tokens i16s none general.file_type=1");
    EXPECT_EQ(stored(open(path("out.gguf")), "w"), values(open(path("in.gguf")), "w", GGML_TYPE_F16));
}

TEST_F(ConvertGguf, what_readers_ask_for_is_added_where_it_is_missing) {
    put_gguf("in.gguf", GGML_TYPE_F32);
    ASSERT_EQ(run("in.gguf", "out.gguf", "q4_0"), "");
    EXPECT_EQ(pairs("out.gguf"), "general.file_type=2 general.quantization_version=2");
    put_model("flux.safetensors", {{"double_blocks.0.img_attn.w", StoredType::bf16, {2, 32}},
                                   {"single_blocks.0.w", StoredType::bf16, {2, 32}}});
    ASSERT_EQ(run("flux.safetensors", "out.gguf"), "");
    EXPECT_EQ(pairs("out.gguf"), "general.architecture=flux general.file_type=32");
}

TEST_F(ConvertGguf, metadata_of_safetensors_survives_the_way_there_and_back) {
    const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"general.alignment", "x"}};
    put_model("in.safetensors", {{"w", StoredType::f16, {2, 64}}}, metadata);
    ASSERT_EQ(run("in.safetensors", "out.gguf"), "");
    EXPECT_EQ(pairs("out.gguf"), "safetensors.format=pt safetensors.general.alignment=x general.file_type=1");
    ASSERT_EQ(run("out.gguf", "back.safetensors"), "");
    EXPECT_EQ(open(path("back.safetensors")).files()[0].container.metadata, metadata);
    EXPECT_EQ(bytes("back.safetensors"), bytes("in.safetensors"));
}

TEST_F(ConvertGguf, pairs_become_texts_and_lists_are_named_as_lost) {
    put_gguf("in.gguf", GGML_TYPE_F16, set_pairs);
    const std::string log = warnings([&] { ASSERT_EQ(run("in.gguf", "out.safetensors"), ""); });
    EXPECT_EQ(open(path("out.safetensors")).files()[0].container.metadata,
              (std::map<std::string, std::string>{{"general.architecture", "qwen3vl"},
                                                  {"u8", "1"},
                                                  {"i16", "-2"},
                                                  {"f32", "0.100000001"},
                                                  {"u64", "18446744073709551615"},
                                                  {"f64", "0.10000000000000001"},
                                                  {"bool", "true"}}));
    EXPECT_EQ(log, "in.gguf: 3 of its pairs are lists (the first is tokenizer.ggml.tokens), which "
                   "safetensors cannot hold: they are left out; for running the model name this file with "
                   "--tokenizer");
}

TEST_F(ConvertGguf, shapes_a_file_cannot_hold_are_kept_beside_it) {
    put_model("in.safetensors", {{"conv", StoredType::f16, {2, 3, 1, 4, 32}},
                                 {"outer", StoredType::f16, {1, 64}},
                                 {"inner", StoredType::f16, {64, 1}},
                                 {"scalar", StoredType::f16, {}}});
    ASSERT_EQ(run("in.safetensors", "out.gguf", "q8_0"), "");
    EXPECT_EQ(pairs("out.gguf"), "general.file_type=7 general.quantization_version=2 "
                                 "comfy.gguf.orig_shape.conv comfy.gguf.orig_shape.outer");
    EXPECT_EQ(list("out.gguf"),
              "conv q8_0 [2, 3, 1, 4, 32], outer q8_0 [1, 64], inner F16 [64, 1], scalar F16 [1]");
    gguf_context_ptr g(gguf_init_from_file(path("out.gguf").c_str(), {true, nullptr}));
    const int64_t * ne = gguf_get_tensor_ne(g.get(), 0);
    EXPECT_EQ((std::vector<int64_t>(ne, ne + 4)), (std::vector<int64_t>{32, 4, 1, 6}));
    ASSERT_EQ(run("out.gguf", "again.gguf"), "");
    EXPECT_EQ(bytes("again.gguf"), bytes("out.gguf"));
}

TEST_F(ConvertGguf, blocks_that_cut_through_rows_stay_whole) {
    const int32_t shape[] = {16, 8};
    put_gguf("in.gguf", GGML_TYPE_Q8_0, [&](gguf_context * g) {
        gguf_set_arr_data(g, "comfy.gguf.orig_shape.w", GGUF_TYPE_INT32, shape, 2);
    });
    ASSERT_EQ(run("in.gguf", "out.gguf"), "");
    EXPECT_EQ(list("out.gguf"), "w q8_0 [16, 8]");
    EXPECT_EQ(stored(open(path("out.gguf")), "w"), stored(open(path("in.gguf")), "w"));
    ASSERT_EQ(run("in.gguf", "f.safetensors", "f32"), "");
    EXPECT_EQ(stored(open(path("f.safetensors")), "w"), values(open(path("in.gguf")), "w", GGML_TYPE_F32));
    EXPECT_EQ(gguf_shape({2, 3, 5, 64}, StoredType(GGML_TYPE_Q4_K)), (std::vector<int64_t>{1920}));
    EXPECT_EQ(gguf_shape({4, 16, 16}, StoredType(GGML_TYPE_Q4_K)), (std::vector<int64_t>{4, 256}));
}

TEST_F(ConvertGguf, long_names_are_allowed_and_told_once) {
    put_model("in.safetensors", {{std::string(64, 'a'), StoredType::f16, {2}},
                                 {std::string(70, 'b'), StoredType::f16, {2}},
                                 {std::string(63, 'c'), StoredType::f16, {2}}});
    const std::string log = warnings([&] { ASSERT_EQ(run("in.safetensors", "out.gguf"), ""); });
    EXPECT_EQ(log,
              "some readers of GGUF files refuse names of 64 bytes or more: 2 tensors have one, the first "
              "is " +
                  std::string(64, 'a'));
    EXPECT_EQ(open(path("out.gguf")).tensors().size(), 3u);
}

TEST_F(ConvertGguf, many_files_keep_the_pairs_of_the_first) {
    put_gguf("dit.gguf", GGML_TYPE_F16, [](gguf_context * g) {
        gguf_set_val_str(g, "general.architecture", "krea2");
        gguf_set_val_u32(g, "general.file_type", 1);
    });
    put_gguf("llm.gguf", GGML_TYPE_Q8_0, set_pairs);
    Checkpoint two;
    two.add(path("dit.gguf"), Component::diffusion);
    two.add(path("llm.gguf"), Component::llm);
    ASSERT_EQ(run(two, "out.gguf"), "");
    EXPECT_EQ(list("out.gguf"), "model.diffusion_model.w F16 [2, 64], text_encoders.llm.w q8_0 [2, 64]");
    EXPECT_EQ(pairs("out.gguf"),
              "general.architecture=krea2 general.quantization_version=2 u8 i16 f32 u64 f64 "
              "bool tokenizer.ggml.tokens i16s none general.file_type=1");
}

} // namespace
} // namespace sd
