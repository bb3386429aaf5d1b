// What the reader refuses, and the line it says: these texts are what people search the web for.
#include "checkpoint/container.h"
#include "checkpoint/safetensors/test_file.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

using test::safetensors_file;

std::string refusal(const File & file) {
    return test::refusal_of([&] { read_safetensors(file); });
}

struct Case {
    std::string header;
    size_t data;
    std::string line; // after "m.safetensors: "
};

void expect_lines(const std::vector<Case> & cases) {
    for (const Case & c : cases) {
        EXPECT_EQ(refusal(safetensors_file(c.header, c.data)), "m.safetensors: " + c.line) << c.header;
    }
}

// {"NAME": {"dtype": DTYPE, "shape": SHAPE, "data_offsets": OFFSETS}}
std::string one(const std::string & dtype, const std::string & shape, const std::string & offsets,
                const std::string & name = "x") {
    return R"({")" + name + R"(":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
}

TEST(SafetensorsRefusal, a_header_longer_than_its_file_or_its_limit) {
    const std::string says = "m.safetensors: its first 8 bytes say that its header has ";
    const std::string incomplete = " follow (the download is incomplete: fetch it again)";
    EXPECT_EQ(refusal(safetensors_file("{}", 0, 3)), says + "3 bytes, but only 2" + incomplete);
    EXPECT_EQ(refusal(safetensors_file("{}", 10, 13)), says + "13 bytes, but only 12" + incomplete);
    const std::string limit =
        "more than the 100000000 a header may have (the file is damaged, or no safetensors file)";
    EXPECT_EQ(refusal(safetensors_file("{}", 0, UINT64_MAX)), says + "18446744073709551615 bytes, " + limit);
    EXPECT_EQ(refusal(safetensors_file("{}", 0, UINT64_MAX - 7)),
              says + "18446744073709551608 bytes, " + limit);
    EXPECT_EQ(refusal(safetensors_file("{}", 0, 100000001)), says + "100000001 bytes, " + limit);
    EXPECT_EQ(refusal(File::of_bytes("m.safetensors", std::vector<std::byte>(7))),
              "m.safetensors: has 7 bytes, too few for a safetensors file (fetch it again)");
}

TEST(SafetensorsRefusal, a_header_that_is_no_json_object) {
    const std::string damaged = " (the file is damaged, or not what it claims)";
    expect_lines({
        {"", 0, "its header is not JSON at byte 1" + damaged},
        {"XXXX", 0, "its header is not JSON at byte 1" + damaged},
        {"{\"a\":}", 0, "its header is not JSON at byte 6" + damaged},
        {"{} {}", 0, "its header is not JSON at byte 4" + damaged},
        {"{\"\xff\":1}", 0, "its header is not JSON at byte 3" + damaged},
        {R"({"x":{"shape":[1e999]}})", 0,
         "its header has a number that is out of range at byte 20" + damaged},
        {"[]", 0, "its header is not a JSON object"},
        {"\"text\"", 0, "its header is not a JSON object"},
        {R"({"x":5})", 0, "tensor x: its entry in the header is not an object"},
        {R"({"x":[]})", 0, "tensor x: its entry in the header is not an object"},
    });
}

TEST(SafetensorsRefusal, what_appears_twice) {
    const std::string entry = R"("x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    expect_lines({
        {"{" + entry + "," + entry + "}", 0, "tensor x: appears twice in the header"},
        {R"({"x":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", 0,
         "tensor x: its dtype appears twice"},
        {R"({"x":{"shape":[0],"shape":[0]}})", 0, "tensor x: its shape appears twice"},
        {R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__ appears twice in the header"},
        {R"({"__metadata__":{"a":"1","a":"1"}})", 0, R"(__metadata__: "a" appears twice)"},
    });
}

TEST(SafetensorsRefusal, metadata_that_are_no_strings) {
    expect_lines({
        {R"({"__metadata__":{"a":1}})", 0, R"(__metadata__: the value of "a" is not a string)"},
        {R"({"__metadata__":{"a":{}}})", 0, R"(__metadata__: the value of "a" is not a string)"},
        {R"({"__metadata__":"a"})", 0, "__metadata__ is not an object of strings"},
        {R"({"__metadata__":null})", 0, "__metadata__ is not an object of strings"},
    });
}

TEST(SafetensorsRefusal, entries_without_a_part_or_of_wrong_types) {
    expect_lines({
        {R"({"x":{"shape":[0],"data_offsets":[0,0]}})", 0, "tensor x: has no dtype"},
        {R"({"x":{"dtype":"U8","data_offsets":[0,0]}})", 0, "tensor x: has no shape"},
        {R"({"x":{"dtype":"U8","shape":[0]}})", 0, "tensor x: has no data_offsets"},
        {one("7", "[0]", "[0,0]"), 0, "tensor x: its dtype cannot be 7"},
        {one("[]", "[0]", "[0,0]"), 0, "tensor x: its dtype cannot be a list"},
        {one(R"("U8")", "4", "[0,0]"), 0, "tensor x: its shape cannot be 4"},
        {one(R"("U8")", "{}", "[0,0]"), 0, "tensor x: its shape cannot be an object"},
        {one(R"("U8")", "[[1]]", "[0,0]"), 0, "tensor x: its shape cannot contain a list"},
        {one(R"("U8")", "[-1]", "[0,0]"), 0, "tensor x: its shape cannot contain -1"},
        {one(R"("U8")", "[1.0]", "[0,0]"), 0, "tensor x: its shape cannot contain 1.0"},
        {one(R"("U8")", R"(["1"])", "[0,0]"), 0, "tensor x: its shape cannot contain 1"},
        {one(R"("U8")", "[9223372036854775808]", "[0,0]"), 0,
         "tensor x: its shape cannot contain 9223372036854775808"},
        {one(R"("U8")", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "tensor x: has more than 8 dimensions"},
    });
}

TEST(SafetensorsRefusal, types_it_does_not_know_or_support) {
    const std::string known =
        " (known are F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, F8_E4M3, "
        "F8_E5M2, F8_E8M0, BOOL)";
    expect_lines({
        {one(R"("F33")", "[0]", "[0,0]"), 0, R"(tensor x: its dtype "F33" is unknown)" + known},
        {one(R"("f32")", "[0]", "[0,0]"), 0, R"(tensor x: its dtype "f32" is unknown)" + known},
        {one(R"("\u0007")", "[0]", "[0,0]"), 0, R"(tensor x: its dtype "\x07" is unknown)" + known},
        {one(R"("F4")", "[2]", "[0,1]"), 1, R"(tensor x: elements of type "F4" are not supported)" + known},
        {one(R"("F6_E2M3")", "[4]", "[0,3]"), 3,
         R"(tensor x: elements of type "F6_E2M3" are not supported)" + known},
        {one(R"("F6_E3M2")", "[4]", "[0,3]"), 3,
         R"(tensor x: elements of type "F6_E3M2" are not supported)" + known},
        {one(R"("C64")", "[1]", "[0,8]"), 8, R"(tensor x: elements of type "C64" are not supported)" + known},
    });
}

TEST(SafetensorsRefusal, offsets_that_are_no_range) {
    expect_lines({
        {one(R"("U8")", "[1]", "[0]"), 1, "tensor x: its data_offsets are not two numbers, begin and end"},
        {one(R"("U8")", "[1]", "[0,1,2]"), 1,
         "tensor x: its data_offsets are not two numbers, begin and end"},
        {one(R"("U8")", "[1]", "[-1,0]"), 1, "tensor x: its data_offsets cannot contain -1"},
        {one(R"("U8")", "[1]", "[0.5,1]"), 1, "tensor x: its data_offsets cannot contain 0.5"},
        {one(R"("U8")", "[1]", "[0,36893488147419103232]"), 1,
         "tensor x: its data_offsets cannot contain 36893488147419103232"},
        {one(R"("U8")", "[1]", "[1,0]"), 1, "tensor x: its data_offsets begin at 1 and end before, at 0"},
        {one(R"("U8")", "[1]", "[18446744073709551614,18446744073709551615]"), 1,
         "tensor x: its bytes 18446744073709551614 to 18446744073709551615 lie beyond the end of the data, "
         "which "
         "has 1 (the file is damaged: fetch it again)"},
        {one(R"("U8")", "[1]", "[4,5]"), 1,
         "tensor x: its bytes 4 to 5 lie beyond the end of the data, which has 1 (the file is damaged: fetch "
         "it "
         "again)"},
        {one(R"("U8")", "[0]", "[9,9]"), 1,
         "tensor x: its bytes 9 to 9 lie beyond the end of the data, which has 1 (the file is damaged: fetch "
         "it "
         "again)"},
    });
}

TEST(SafetensorsRefusal, sizes_that_do_not_match) {
    expect_lines({
        {one(R"("F64")", "[4]", "[0,16]"), 16, "tensor x: has 16 bytes, but F64 [4] takes 32"},
        {one(R"("F32")", "[]", "[0,0]"), 0, "tensor x: has 0 bytes, but F32 [] takes 4"},
        {one(R"("U8")", "[4294967296,4294967296]", "[0,0]"), 0,
         "tensor x: U8 [4294967296, 4294967296] is larger than any file"},
        {one(R"("U8")", "[0,4294967296,4294967296]", "[0,0]"), 0,
         "tensor x: U8 [0, 4294967296, 4294967296] is larger than any file"},
        {one(R"("F64")", "[2305843009213693952]", "[0,0]"), 0,
         "tensor x: F64 [2305843009213693952] is larger than any file"},
    });
}

TEST(SafetensorsRefusal, tensors_that_overlap) {
    const std::string two = R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]},)"
                            R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
    const std::string inside = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                               R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
    expect_lines({
        {two, 6,
         "tensor b: its bytes 2 to 6 overlap those of tensor a, 0 to 4 (the file is damaged, or made to "
         "mislead)"},
        {inside, 4,
         "tensor b: its bytes 2 to 3 overlap those of tensor a, 0 to 4 (the file is damaged, or made to "
         "mislead)"},
    });
}

TEST(SafetensorsRefusal, a_file_that_was_cut) {
    const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
    const std::string length = std::to_string(8 + header.size() + 16);
    for (const size_t there : {0, 7, 8, 15}) {
        EXPECT_EQ(
            refusal(safetensors_file(header, there)),
            "m.safetensors: is shorter than its header says: " + std::to_string(8 + header.size() + there) +
                " of " + length + " bytes (the download is incomplete: fetch it again)");
    }
    EXPECT_EQ(refusal(safetensors_file(header, 16)), "");
}

TEST(SafetensorsRefusal, names_that_are_empty_long_or_not_printable) {
    const std::string longest(1024, 'n');
    EXPECT_EQ(refusal(safetensors_file(one(R"("U8")", "[0]", "[0,0]", longest), 0)), "");
    expect_lines({
        {one(R"("U8")", "[0]", "[0,0]", ""), 0, "a tensor has an empty name"},
        {one(R"("U8")", "[0]", "[0,0]", longest + "n"), 0,
         "tensor " + std::string(120, 'n') + "...: its name has 1025 bytes, more than 1024"},
        {one(R"("U8")", "[0]", "[0,0]", R"(a\nerror: b\u001b[2J)"), 0,
         R"(tensor a\x0aerror: b\x1b[2J: its name has control characters, or is not UTF-8)"},
        {one(R"("U8")", "[0]", "[0,0]", R"(a\u0000b)"), 0,
         R"(tensor a\x00b: its name has control characters, or is not UTF-8)"},
    });
}

TEST(SafetensorsRefusal, every_cut_of_a_sound_file) {
    const std::vector<std::byte> whole = test::safetensors_bytes(
        R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
        const std::vector<std::byte> cut(whole.begin(), whole.begin() + ptrdiff_t(bytes));
        EXPECT_NE(refusal(File::of_bytes("m.safetensors", cut)), "") << bytes;
    }
    EXPECT_EQ(refusal(File::of_bytes("m.safetensors", whole)), "");
}

} // namespace
} // namespace sd
