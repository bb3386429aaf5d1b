#include "checkpoint/container.h"
#include "checkpoint/safetensors/test_file.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

using test::safetensors_file;

using Texts = std::vector<std::string>;

TEST(SafetensorsReader, gives_name_type_shape_and_place_of_every_tensor) {
    const std::string header = R"({"__metadata__":{"format":"pt","who":"me"},)"
                               R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
                               R"("a.weight":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}})";
    const Container c = read_safetensors(safetensors_file(header, 16));
    EXPECT_EQ(c.kind, ContainerKind::safetensors);
    ASSERT_EQ(c.tensors.size(), 2u);
    EXPECT_EQ(c.tensors[0].name, "b");
    EXPECT_EQ(c.tensors[0].type, StoredType::bf16);
    EXPECT_EQ(c.tensors[0].shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(c.tensors[0].offset, 8 + header.size() + 4);
    EXPECT_EQ(c.tensors[0].bytes, 12u);
    EXPECT_EQ(c.tensors[1].name, "a.weight");
    EXPECT_EQ(c.tensors[1].shape, std::vector<int64_t>{});
    EXPECT_EQ(c.tensors[1].elements(), 1);
    EXPECT_EQ(c.metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"who", "me"}}));
    EXPECT_EQ(c.warnings, Texts{});
}

TEST(SafetensorsReader, knows_every_type_and_its_size) {
    const std::pair<std::string, int> types[] = {{"F64", 8},     {"F32", 4},     {"F16", 2},     {"BF16", 2},
                                                 {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"I64", 8},
                                                 {"I32", 4},     {"I16", 2},     {"I8", 1},      {"U64", 8},
                                                 {"U32", 4},     {"U16", 2},     {"U8", 1},      {"BOOL", 1}};
    for (const auto & [name, bytes] : types) {
        const std::string header = R"({"x":{"dtype":")" + name + R"(","shape":[3],"data_offsets":[0,)" +
                                   std::to_string(3 * bytes) + "]}}";
        const Container c = read_safetensors(safetensors_file(header, size_t(3 * bytes)));
        EXPECT_EQ(type_name(c.tensors.at(0).type), name);
    }
}

TEST(SafetensorsReader, takes_what_is_odd_but_harmless_with_a_warning) {
    struct {
        std::string header;
        size_t data;
        Texts warnings;
    } const cases[] = {
        {"{}", 0, {}},
        {R"({"__metadata__":{}}      )", 0, {}},
        {R"({"x":{"dtype":"F32","shape":[4,0,7],"data_offsets":[0,0]}})", 0, {}},
        {R"({"x":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1, {}},
        // Not aligned, and not in the order of the header.
        {R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},"y":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
         5,
         {}},
        {std::string("{}\0\0\0", 5), 0, {"the header is filled up with NUL bytes"}},
        {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
         4,
         {"3 bytes after the last tensor belong to none"}},
        {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
         3,
         {"2 bytes between tensors belong to none"}},
        {R"({"x":{"dtype":"U8","why":[{"a":[]},2],"shape":[0],"data_offsets":[0,0],"z":1}})",
         0,
         {R"(tensor x: "why" in the header is unknown and has no effect)"}},
        {R"({"größe":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0, {}},
    };
    for (const auto & c : cases) {
        EXPECT_EQ(read_safetensors(safetensors_file(c.header, c.data)).warnings, c.warnings) << c.header;
    }
}

TEST(SafetensorsReader, memory_of_a_header_stays_a_small_multiple_of_it) {
    std::string header = "{";
    for (int i = 0; i < 100000; ++i) {
        header += (i > 0 ? ",\"" : "\"") + std::to_string(i) +
                  R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    const Container c = read_safetensors(safetensors_file(header + "}", 0));
    EXPECT_EQ(c.tensors.size(), 100000u);
    EXPECT_LT(c.tensors.capacity() * sizeof(TensorInfo), 8 * header.size());
}

TEST(SafetensorsReader, refuses_deep_nesting_without_a_stack_of_its_depth) {
    std::string header = R"({"x":{"why":)";
    header.append(1000000, '[');
    EXPECT_EQ(
        test::refusal_of([&] { read_safetensors(safetensors_file(header, 0)); }),
        "m.safetensors: its header is nested more than 32 levels deep (the file is damaged, or not what it "
        "claims)");
}

} // namespace
} // namespace sd
