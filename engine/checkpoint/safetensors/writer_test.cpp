#include "checkpoint/safetensors/writer.h"

#include "checkpoint/container.h"
#include "checkpoint/safetensors/test_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace sd {
namespace {

namespace fs = std::filesystem;

class SafetensorsWriterTest : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::path(testing::TempDir()) / ("safetensors_writer_" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const std::string & name = "out.safetensors") const { return (folder_ / name).string(); }
    size_t files() const { return size_t(std::distance(fs::directory_iterator(folder_), {})); }

    fs::path folder_;
};

std::vector<uint8_t> bytes_of(const TensorInfo & tensor, const File & file) {
    std::vector<uint8_t> bytes(tensor.bytes);
    file.read(tensor.offset, bytes.data(), bytes.size());
    return bytes;
}

TEST_F(SafetensorsWriterTest, what_is_written_reads_back_for_every_type) {
    std::vector<TensorDeclaration> tensors;
    for (const StoredType type :
         {StoredType::f64, StoredType::i64, StoredType::u64, StoredType::f32, StoredType::i32,
          StoredType::u32, StoredType::f16, StoredType::bf16, StoredType::i16, StoredType::u16,
          StoredType::i8, StoredType::u8, StoredType::boolean, StoredType::f8_e4m3, StoredType::f8_e5m2,
          StoredType::f8_e8m0}) {
        tensors.push_back({std::string("layer.") + type_name(type), type, {3, 5}});
    }
    tensors.push_back({"scalar", StoredType::f32, {}});
    tensors.push_back({"empty", StoredType::f32, {4, 0}});
    tensors.push_back({"\"quoted\\ größe", StoredType::u8, {1}});
    const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"a\"b\n", "{\"x\": 1}"}};
    SafetensorsWriter writer(path(), tensors, metadata);
    std::vector<uint8_t> data(writer.data_bytes());
    for (size_t i = 0; i < data.size(); ++i) data[i] = uint8_t(i * 37 + 11);
    // In pieces that have nothing to do with tensors.
    for (size_t done = 0, piece = 1; done < data.size(); done += piece, piece = piece * 3 % 101) {
        piece = std::min(piece, data.size() - done);
        writer.write(data.data() + done, piece);
    }
    writer.finish();

    const File file = File::open(path());
    const Container c = read_container(file);
    EXPECT_EQ(c.metadata, metadata);
    EXPECT_EQ(c.warnings, std::vector<std::string>{});
    ASSERT_EQ(c.tensors.size(), tensors.size());
    EXPECT_EQ(c.tensors[0].offset % 8, 0u);
    size_t at = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
        EXPECT_EQ(c.tensors[i].name, tensors[i].name);
        EXPECT_EQ(c.tensors[i].type, tensors[i].type);
        EXPECT_EQ(c.tensors[i].shape, tensors[i].shape);
        const auto begin = data.begin() + ptrdiff_t(at);
        EXPECT_EQ(bytes_of(c.tensors[i], file),
                  std::vector<uint8_t>(begin, begin + ptrdiff_t(c.tensors[i].bytes)));
        at += c.tensors[i].bytes;
    }
    EXPECT_EQ(at, data.size());
}

TEST_F(SafetensorsWriterTest, the_same_input_gives_the_same_bytes) {
    SafetensorsWriter writer(path(), {{"b", StoredType::u8, {2}}, {"a", StoredType::u8, {1}}},
                             {{"z", "1"}, {"k", "2"}});
    writer.write("\x01\x02\x03", 3);
    writer.finish();
    std::ifstream in(path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    std::string header =
        R"({"__metadata__":{"k":"2","z":"1"},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
        R"("a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})";
    header.append((8 - header.size() % 8) % 8, ' ');
    EXPECT_EQ(bytes, std::string(1, char(header.size())) + std::string(7, '\0') + header + "\x01\x02\x03");
}

TEST_F(SafetensorsWriterTest, a_model_without_tensors_is_a_file_too) {
    SafetensorsWriter(path(), {}).finish();
    EXPECT_EQ(read_container(File::open(path())).tensors.size(), 0u);
}

TEST_F(SafetensorsWriterTest, refuses_what_no_reader_would_take_and_leaves_nothing) {
    const std::pair<std::vector<TensorDeclaration>, std::string> cases[] = {
        {{{"x", StoredType::u8, {1}}, {"y", StoredType::u8, {1}}, {"x", StoredType::i8, {2}}},
         "tensor x: is to be written twice"},
        {{{"x", stored_type(GGML_TYPE_Q4_K), {256}}},
         "tensor x: safetensors has no type q4_K (write a GGUF file)"},
        {{{"", StoredType::u8, {1}}}, "a tensor has an empty name"},
        {{{"__metadata__", StoredType::u8, {1}}}, "tensor __metadata__: is the name of the metadata"},
        {{{"a\tb", StoredType::u8, {1}}}, "tensor a\\x09b: its name has control characters, or is not UTF-8"},
        {{{"\xff", StoredType::u8, {1}}}, "tensor \\xff: its name has control characters, or is not UTF-8"},
        {{{"x", StoredType::u8, {-1}}}, "tensor x: U8 [-1] is larger than any file"},
        {{{"x", StoredType::u8, {INT64_MAX}}, {"y", StoredType::u8, {1}}},
         "tensor y: U8 [1] is larger than any file"},
        {{{"x", StoredType::u8, {1, 1, 1, 1, 1, 1, 1, 1, 1}}}, "tensor x: has more than 8 dimensions"},
    };
    for (const auto & [tensors, line] : cases) {
        EXPECT_EQ(test::refusal_of([&] { SafetensorsWriter(path(), tensors); }), path() + ": " + line);
    }
    EXPECT_EQ(files(), 0u);
}

TEST_F(SafetensorsWriterTest, counts_the_bytes) {
    SafetensorsWriter writer(path(), {{"x", StoredType::u8, {4}}});
    writer.write("abc", 3);
    EXPECT_EQ(test::refusal_of([&] { writer.finish(); }),
              path() + ": only 3 of its 4 bytes of data were written");
    EXPECT_EQ(test::refusal_of([&] { writer.write("de", 2); }),
              path() + ": more bytes than its tensors have were to be written");
    EXPECT_FALSE(fs::exists(path()));
}

TEST_F(SafetensorsWriterTest, a_file_larger_than_the_disk_is_refused_before_it_is_written) {
    const int64_t huge = int64_t(1) << 55;
    const std::string line = test::refusal_of([&] {
        SafetensorsWriter(path(), {{"x", StoredType::u8, {huge}}});
    });
    EXPECT_EQ(line.find(path() + ": cannot be written: "), 0u) << line;
    EXPECT_EQ(files(), 0u);
}

} // namespace
} // namespace sd
