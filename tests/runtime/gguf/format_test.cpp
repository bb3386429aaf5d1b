// Reading, writing and editing files that mean something.
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tests/runtime/gguf/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <unistd.h>

namespace ggml::test {
namespace {

class TempFile {
  public:
    TempFile() {
        const auto * info = testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::temp_directory_path() /
                (std::string("gguf-") + info->name() + std::to_string(getpid()) + ".gguf");
    }
    ~TempFile() { std::filesystem::remove(path_); }
    std::string name() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

// One pair of every type, and an array of every element type.
gguf_context_ptr every_type() {
    gguf_context_ptr g(gguf_init_empty());
    gguf_context * c = g.get();
    gguf_set_val_u8(c, "u8", 200);
    gguf_set_val_i8(c, "i8", -100);
    gguf_set_val_u16(c, "u16", 60000);
    gguf_set_val_i16(c, "i16", -30000);
    gguf_set_val_u32(c, "u32", 4000000000u);
    gguf_set_val_i32(c, "i32", -2000000000);
    gguf_set_val_f32(c, "f32", 1.5f);
    gguf_set_val_u64(c, "u64", UINT64_MAX);
    gguf_set_val_i64(c, "i64", INT64_MIN);
    gguf_set_val_f64(c, "f64", 1e300);
    gguf_set_val_bool(c, "bool", true);
    gguf_set_val_str(c, "str", "h\xc3\xa9llo");
    const char * strings[] = {"", "one", "two words"};
    gguf_set_arr_str(c, "strings", strings, 3);
    const uint8_t bytes[16] = {1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1};
    for (int t = 0; t < GGUF_TYPE_COUNT; ++t) {
        if (t == GGUF_TYPE_STRING || t == GGUF_TYPE_ARRAY) continue;
        gguf_set_arr_data(c, (std::string("array.") + gguf_type_name(gguf_type(t))).c_str(), gguf_type(t),
                          bytes, 2);
    }
    return g;
}

void expect_every_type(const gguf_context * c) {
    const auto id = [c](const char * key) { return gguf_find_key(c, key); };
    EXPECT_EQ(gguf_get_val_u8(c, id("u8")), 200);
    EXPECT_EQ(gguf_get_val_i8(c, id("i8")), -100);
    EXPECT_EQ(gguf_get_val_u16(c, id("u16")), 60000);
    EXPECT_EQ(gguf_get_val_i16(c, id("i16")), -30000);
    EXPECT_EQ(gguf_get_val_u32(c, id("u32")), 4000000000u);
    EXPECT_EQ(gguf_get_val_i32(c, id("i32")), -2000000000);
    EXPECT_EQ(gguf_get_val_f32(c, id("f32")), 1.5f);
    EXPECT_EQ(gguf_get_val_u64(c, id("u64")), UINT64_MAX);
    EXPECT_EQ(gguf_get_val_i64(c, id("i64")), INT64_MIN);
    EXPECT_EQ(gguf_get_val_f64(c, id("f64")), 1e300);
    EXPECT_TRUE(gguf_get_val_bool(c, id("bool")));
    EXPECT_STREQ(gguf_get_val_str(c, id("str")), "h\xc3\xa9llo");
    const int64_t strings = id("strings");
    ASSERT_EQ(gguf_get_arr_n(c, strings), 3u);
    EXPECT_EQ(gguf_get_kv_type(c, strings), GGUF_TYPE_ARRAY);
    EXPECT_EQ(gguf_get_arr_type(c, strings), GGUF_TYPE_STRING);
    EXPECT_STREQ(gguf_get_arr_str(c, strings, 0), "");
    EXPECT_STREQ(gguf_get_arr_str(c, strings, 2), "two words");
    EXPECT_EQ(gguf_get_arr_n(c, id("array.f64")), 2u);
    EXPECT_EQ(gguf_get_arr_type(c, id("array.bool")), GGUF_TYPE_BOOL);
}

TEST(gguf_format, bytes_are_those_of_the_public_layout) {
    gguf_context_ptr g(gguf_init_empty());
    gguf_set_val_u32(g.get(), "k", 7);
    ggml_context_ptr ctx(ggml_init({4096, nullptr, false}));
    ggml_tensor * t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 2);
    ggml_set_name(t, "w");
    gguf_add_tensor(g.get(), t);

    Bytes expected;
    expected.header(1, 1).pair_u32("k", 7).tensor("w", {3, 2}, 0, 0).pad();
    std::vector<uint8_t> actual(gguf_get_meta_size(g.get()));
    gguf_get_meta_data(g.get(), actual.data());
    EXPECT_EQ(actual, expected.data);
}

TEST(gguf_format, every_value_type_survives_a_round_trip) {
    const gguf_context_ptr g = every_type();
    expect_every_type(g.get());
    TempFile file;
    ASSERT_TRUE(gguf_write_to_file(g.get(), file.name().c_str(), false));
    gguf_context_ptr back(gguf_init_from_file(file.name().c_str(), {true, nullptr}));
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(gguf_get_n_kv(back.get()), gguf_get_n_kv(g.get()));
    expect_every_type(back.get());
}

TEST(gguf_format, version_2_reads_like_version_3) {
    Bytes b;
    b.header(1, 1, 2).pair_u32("k", 5).tensor("x", {2}, GGML_TYPE_F32, 0).pad().value(1.0f).value(2.0f);
    ggml_context * ctx = nullptr;
    gguf_context_ptr g(b.open({false, &ctx}));
    ASSERT_NE(g, nullptr);
    ggml_context_ptr owned(ctx);
    EXPECT_EQ(gguf_get_version(g.get()), 2u);
    EXPECT_EQ(ggml_get_f32_1d(ggml_get_tensor(ctx, "x"), 1), 2.0f);
}

TEST(gguf_format, tensors_of_every_type_come_back_with_their_data) {
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, false}));
    gguf_context_ptr g(gguf_init_empty());
    gguf_set_val_u32(g.get(), "general.alignment", 128);
    int made = 0;
    for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
        if (ggml_blck_size(ggml_type(type)) == 0) continue;
        ggml_tensor * t = ggml_new_tensor_2d(ctx.get(), ggml_type(type), 256, 3);
        ggml_format_name(t, "tensor.%d", type);
        auto * p = static_cast<uint8_t *>(t->data);
        std::iota(p, p + ggml_nbytes(t), uint8_t(type));
        gguf_add_tensor(g.get(), t);
        ++made;
    }
    TempFile file;
    ASSERT_TRUE(gguf_write_to_file(g.get(), file.name().c_str(), false));

    ggml_context * loaded = nullptr;
    gguf_context_ptr back(gguf_init_from_file(file.name().c_str(), {false, &loaded}));
    ASSERT_NE(back, nullptr);
    ggml_context_ptr owned(loaded);
    ASSERT_EQ(gguf_get_n_tensors(back.get()), made);
    for (ggml_tensor * t = ggml_get_first_tensor(ctx.get()); t != nullptr;
         t = ggml_get_next_tensor(ctx.get(), t)) {
        const int64_t id = gguf_find_tensor(back.get(), t->name);
        ASSERT_GE(id, 0) << t->name;
        EXPECT_EQ(gguf_get_tensor_type(back.get(), id), t->type);
        EXPECT_EQ(gguf_get_tensor_size(back.get(), id), ggml_nbytes(t));
        EXPECT_EQ(gguf_get_tensor_offset(back.get(), id) % 128, 0u);
        EXPECT_EQ(gguf_get_tensor_ne(back.get(), id)[1], 3);
        ggml_tensor * r = ggml_get_tensor(loaded, t->name);
        ASSERT_NE(r, nullptr);
        EXPECT_EQ(std::memcmp(r->data, t->data, ggml_nbytes(t)), 0) << t->name;
    }
}

TEST(gguf_format, tensors_without_data_when_asked_for_none) {
    Bytes b;
    b.header(2, 0)
        .tensor("x", {2, 3}, GGML_TYPE_F16, 0)
        .tensor("empty", {0, 3}, GGML_TYPE_F32, 32)
        .pad()
        .zeros(12);
    ggml_context * ctx = nullptr;
    gguf_context_ptr g(b.open({true, &ctx}));
    ASSERT_NE(g, nullptr);
    ggml_context_ptr owned(ctx);
    EXPECT_EQ(ggml_get_tensor(ctx, "x")->data, nullptr);
    EXPECT_EQ(ggml_get_tensor(ctx, "x")->ne[1], 3);
    EXPECT_TRUE(ggml_is_empty(ggml_get_tensor(ctx, "empty")));
}

TEST(gguf_format, metadata_alone_is_a_file_too) {
    ggml_context_ptr ctx(ggml_init({4096, nullptr, false}));
    ggml_tensor * t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 100);
    ggml_set_name(t, "w");
    gguf_context_ptr g(gguf_init_empty());
    gguf_add_tensor(g.get(), t);
    TempFile file;
    ASSERT_TRUE(gguf_write_to_file(g.get(), file.name().c_str(), true));
    EXPECT_EQ(std::filesystem::file_size(file.name()), gguf_get_meta_size(g.get()));
    gguf_context_ptr back(gguf_init_from_file(file.name().c_str(), {true, nullptr}));
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(gguf_get_data_offset(back.get()), gguf_get_meta_size(g.get()));
    LogCapture log;
    ggml_context * loaded = nullptr;
    EXPECT_EQ(gguf_init_from_file(file.name().c_str(), {false, &loaded}), nullptr);
    EXPECT_NE(log.text.find("gguf.truncated"), std::string::npos);
}

TEST(gguf_format, without_tensors_the_data_starts_unpadded_after_the_pairs) {
    Bytes b;
    b.header(0, 1).pair_u32("k", 7);
    gguf_context_ptr g(b.open());
    ASSERT_NE(g, nullptr);
    ASSERT_NE(b.data.size() % 32, 0u);
    EXPECT_EQ(gguf_get_data_offset(g.get()), b.data.size());
}

TEST(gguf_format, an_open_file_is_read_from_its_position_and_left_at_the_data) {
    FILE * file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    Bytes b;
    b.header(1, 0).tensor("x", {1}, GGML_TYPE_F32, 0).pad().value(42.0f);
    std::fputs("prefix", file);
    std::fwrite(b.data.data(), 1, b.data.size(), file);
    std::fseek(file, 6, SEEK_SET);
    gguf_context_ptr g(gguf_init_from_file_ptr(file, {true, nullptr}));
    ASSERT_NE(g, nullptr);
    float value = 0;
    EXPECT_EQ(std::fread(&value, sizeof value, 1, file), 1u);
    EXPECT_EQ(value, 42.0f);
    std::fclose(file);
}

TEST(gguf_format, a_callback_is_asked_in_chunks_of_at_most_the_limit) {
    Bytes b;
    const std::string long_text(100000, 'z');
    b.header(0, 1).text("k").value(int32_t(GGUF_TYPE_STRING)).text(long_text);
    struct State {
        const Bytes * bytes;
        size_t largest = 0;
    } state{&b};
    const auto read = [](void * data, void * out, uint64_t offset, size_t n) {
        auto & s = *static_cast<State *>(data);
        s.largest = std::max(s.largest, n);
        const size_t count = std::min<size_t>(n, s.bytes->data.size() - offset);
        std::memcpy(out, s.bytes->data.data() + offset, count);
        return count;
    };
    gguf_context_ptr g(gguf_init_from_callback(read, &state, 100, b.data.size(), {true, nullptr}));
    ASSERT_NE(g, nullptr);
    EXPECT_LE(state.largest, 100u);
    EXPECT_EQ(gguf_get_val_str(g.get(), 0), long_text);
}

TEST(gguf_format, a_vocabulary_of_real_size_is_read) {
    constexpr int kTokens = 151936;
    Bytes b;
    b.header(0, 1)
        .text("tokens")
        .value(int32_t(GGUF_TYPE_ARRAY))
        .value(int32_t(GGUF_TYPE_STRING))
        .value(uint64_t(kTokens));
    for (int i = 0; i < kTokens; ++i) b.text("token" + std::to_string(i));
    gguf_context_ptr g(b.open());
    ASSERT_NE(g, nullptr);
    ASSERT_EQ(gguf_get_arr_n(g.get(), 0), size_t(kTokens));
    EXPECT_STREQ(gguf_get_arr_str(g.get(), 0, 0), "token0");
    EXPECT_STREQ(gguf_get_arr_str(g.get(), 0, kTokens - 1), "token151935");
}

TEST(gguf_format, setting_a_key_again_replaces_its_value_and_type) {
    gguf_context_ptr g(gguf_init_empty());
    gguf_set_val_u32(g.get(), "a", 1);
    gguf_set_val_u32(g.get(), "b", 2);
    gguf_set_val_str(g.get(), "a", "text");
    EXPECT_EQ(gguf_get_n_kv(g.get()), 2);
    EXPECT_EQ(gguf_find_key(g.get(), "a"), 1);
    EXPECT_STREQ(gguf_get_val_str(g.get(), 1), "text");
    EXPECT_EQ(gguf_remove_key(g.get(), "b"), 0);
    EXPECT_EQ(gguf_remove_key(g.get(), "b"), -1);

    gguf_context_ptr copy(gguf_init_empty());
    gguf_set_kv(copy.get(), g.get());
    EXPECT_STREQ(gguf_get_val_str(copy.get(), gguf_find_key(copy.get(), "a")), "text");
}

TEST(gguf_format, a_value_may_be_set_from_itself) {
    gguf_context_ptr g(gguf_init_empty());
    const std::string text(100, 'x');
    gguf_set_val_str(g.get(), "text", text.c_str());
    gguf_set_val_str(g.get(), "text", gguf_get_val_str(g.get(), 0));
    gguf_set_val_str(g.get(), gguf_get_key(g.get(), 0), gguf_get_val_str(g.get(), 0));
    EXPECT_EQ(gguf_get_val_str(g.get(), gguf_find_key(g.get(), "text")), text);
    const std::vector<int32_t> numbers(1000, 7);
    gguf_set_arr_data(g.get(), "numbers", GGUF_TYPE_INT32, numbers.data(), numbers.size());
    gguf_set_arr_data(g.get(), "numbers", GGUF_TYPE_INT32, gguf_get_arr_data(g.get(), 1), numbers.size());
    EXPECT_EQ(std::memcmp(gguf_get_arr_data(g.get(), 1), numbers.data(), 4000), 0);
}

// Three tensors of 12 bytes, written and read back: their first numbers.
std::vector<float> read_back(gguf_context * g) {
    TempFile file;
    EXPECT_TRUE(gguf_write_to_file(g, file.name().c_str(), false));
    ggml_context * loaded = nullptr;
    gguf_context_ptr back(gguf_init_from_file(file.name().c_str(), {false, &loaded}));
    ggml_context_ptr owned(loaded);
    std::vector<float> values;
    if (back == nullptr) return values;
    for (const char * name : {"a", "b", "c"})
        values.push_back(ggml_get_f32_1d(ggml_get_tensor(loaded, name), 0));
    return values;
}

TEST(gguf_format, tensors_move_with_the_alignment_until_it_is_removed) {
    ggml_context_ptr ctx(ggml_init({8192, nullptr, false}));
    gguf_context_ptr g(gguf_init_empty());
    float value = 1;
    for (const char * name : {"a", "b", "c"}) {
        ggml_tensor * t = ggml_set_f32(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3), value++);
        gguf_add_tensor(g.get(), ggml_set_name(t, name));
    }
    gguf_set_val_u32(g.get(), GGUF_KEY_GENERAL_ALIGNMENT, 256);
    EXPECT_EQ(gguf_get_tensor_offset(g.get(), 2), 512u);
    EXPECT_EQ(read_back(g.get()), (std::vector<float>{1, 2, 3}));
    gguf_remove_key(g.get(), GGUF_KEY_GENERAL_ALIGNMENT);
    EXPECT_EQ(gguf_get_alignment(g.get()), size_t(GGUF_DEFAULT_ALIGNMENT));
    EXPECT_EQ(gguf_get_tensor_offset(g.get(), 2), 64u);
    EXPECT_EQ(read_back(g.get()), (std::vector<float>{1, 2, 3}));
}

TEST(gguf_format_death_test, refuses_what_no_reader_would_accept) {
    ggml_context_ptr ctx(ggml_init({8192, nullptr, false}));
    gguf_context_ptr g(gguf_init_empty());
    EXPECT_DEATH(gguf_set_val_str(g.get(), GGUF_KEY_GENERAL_ALIGNMENT, "32"), "one u32");
    EXPECT_DEATH(gguf_set_val_u32(g.get(), GGUF_KEY_GENERAL_ALIGNMENT, 3), "power of two");
    EXPECT_DEATH(gguf_add_tensor(g.get(), ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 3)), "without a name");
}

TEST(gguf_format, a_tensor_can_change_its_type_and_data_before_writing) {
    ggml_context_ptr ctx(ggml_init({8192, nullptr, false}));
    gguf_context_ptr g(gguf_init_empty());
    for (const char * name : {"first", "second"}) {
        ggml_tensor * t = ggml_set_f32(ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 64), 1);
        ggml_set_name(t, name);
        gguf_add_tensor(g.get(), t);
    }
    EXPECT_EQ(gguf_get_tensor_offset(g.get(), 1), 256u);
    const std::vector<uint8_t> quantized(2 * 34, 0x11);
    gguf_set_tensor_type(g.get(), "first", GGML_TYPE_Q8_0);
    gguf_set_tensor_data(g.get(), "first", quantized.data());
    EXPECT_EQ(gguf_get_tensor_offset(g.get(), 1), 96u);
    TempFile file;
    ASSERT_TRUE(gguf_write_to_file(g.get(), file.name().c_str(), false));
    ggml_context * loaded = nullptr;
    gguf_context_ptr back(gguf_init_from_file(file.name().c_str(), {false, &loaded}));
    ASSERT_NE(back, nullptr);
    ggml_context_ptr owned(loaded);
    EXPECT_EQ(std::memcmp(ggml_get_tensor(loaded, "first")->data, quantized.data(), quantized.size()), 0);
    EXPECT_EQ(ggml_get_f32_1d(ggml_get_tensor(loaded, "second"), 63), 1.0f);
}

TEST(gguf_format, a_tensor_without_data_leaves_no_file_behind) {
    Bytes b;
    b.header(1, 0).tensor("x", {1}, GGML_TYPE_F32, 0).pad().zeros(4);
    gguf_context_ptr g(b.open());
    TempFile file;
    LogCapture log;
    EXPECT_FALSE(gguf_write_to_file(g.get(), file.name().c_str(), false));
    EXPECT_FALSE(std::filesystem::exists(file.name()));
    EXPECT_FALSE(gguf_write_to_file(g.get(), "/no/such/folder/x.gguf", true));
}

TEST(gguf_format, a_missing_file_is_named_with_its_reason) {
    LogCapture log;
    EXPECT_EQ(gguf_init_from_file("no-such-file.gguf", {true, nullptr}), nullptr);
    EXPECT_NE(log.text.find("no-such-file.gguf"), std::string::npos);
    EXPECT_NE(log.text.find("No such file"), std::string::npos);
}

TEST(gguf_format, a_folder_is_called_a_folder) {
    const std::string folder = std::filesystem::temp_directory_path().string();
    LogCapture log;
    EXPECT_EQ(gguf_init_from_file(folder.c_str(), {true, nullptr}), nullptr);
    EXPECT_EQ(log.text, folder + " is a folder, not a GGUF file\n");
}

} // namespace
} // namespace ggml::test
