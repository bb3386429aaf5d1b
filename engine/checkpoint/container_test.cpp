#include "checkpoint/container.h"

#include "checkpoint/safetensors/test_file.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

File file_of(const std::string & text) {
    const auto * bytes = reinterpret_cast<const std::byte *>(text.data());
    return File::of_bytes("m", std::vector<std::byte>(bytes, bytes + text.size()));
}

std::string refusal(const std::string & text) {
    return test::refusal_of([&] { read_container(file_of(text)); });
}

TEST(ContainerKind, is_told_by_the_first_bytes) {
    EXPECT_EQ(container_kind(test::safetensors_file("{}", 0)), ContainerKind::safetensors);
    EXPECT_EQ(container_kind(file_of("GGUF\x03")), ContainerKind::gguf);
    EXPECT_EQ(container_kind(file_of(std::string("PK\x03\x04\0\0", 6))), ContainerKind::pytorch);
    EXPECT_EQ(container_kind(file_of("\x80\x02\x8a\x0al\xfc\x9c")), ContainerKind::pytorch);
}

TEST(ContainerKind, a_header_length_that_looks_like_a_pickle_or_like_json_is_still_a_length) {
    for (const size_t length : {size_t(0x280), size_t(0x7b), size_t(0x7b7b)}) {
        const std::string header = "{}" + std::string(length - 2, ' ');
        EXPECT_EQ(container_kind(test::safetensors_file(header, 0)), ContainerKind::safetensors);
    }
    // An impossible one as well, so that the reader can say what is wrong.
    EXPECT_EQ(container_kind(test::safetensors_file("{}", 0, UINT64_MAX)), ContainerKind::safetensors);
}

TEST(ContainerKind, what_is_no_model_is_refused_in_one_line) {
    const std::string none = "m: is not a model file: it begins like neither safetensors, GGUF nor PyTorch";
    EXPECT_EQ(refusal(std::string("\4\0\0\0\0\0\0\0XXXXYYYY", 16)), none);
    EXPECT_EQ(refusal("x"), none);
    EXPECT_EQ(refusal(std::string("\2\0\0\0\0\0\0\0", 8)), none);
    EXPECT_EQ(refusal(std::string(200, '\xff')), none);
    EXPECT_EQ(refusal(""), "m: is empty (fetch it again)");
    EXPECT_EQ(refusal(std::string(5000, '\0')),
              "m: begins with zeros: its download did not finish (fetch it again)");
    EXPECT_EQ(refusal("\n<!DOCTYPE html><html>"),
              "m: is a web page, not a model (download the file, not the page about it)");
    EXPECT_EQ(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
              "m: is a Git LFS pointer, not the model it stands for (run `git lfs pull`)");
}

} // namespace
} // namespace sd
