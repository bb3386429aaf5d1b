// For tests: a folder of small files that is gone after the test.
#pragma once

#include "checkpoint/safetensors/test_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace sd::test {

class TestFolder : public testing::Test {
  protected:
    void SetUp() override {
        const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
        folder_ = std::filesystem::path(testing::TempDir()) / (name + "_" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string & name) const { return (folder_ / name).string(); }

    // Folders on the way are made.
    std::string put(const std::string & name, const std::string & text) const {
        std::filesystem::create_directories((folder_ / name).parent_path());
        std::ofstream out(folder_ / name, std::ios::binary);
        out.write(text.data(), std::streamsize(text.size()));
        return path(name);
    }

    // A safetensors file of U8 tensors with one element each.
    std::string put_tensors(const std::string & name, const std::vector<std::string> & tensors) const {
        std::string header = "{";
        for (size_t i = 0; i < tensors.size(); ++i) {
            header += (i > 0 ? ",\"" : "\"") + tensors[i] +
                      R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
                      std::to_string(i + 1) + "]}";
        }
        const std::vector<std::byte> bytes = safetensors_bytes(header + "}", tensors.size());
        return put(name, std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
    }

    std::filesystem::path folder_;
};

} // namespace sd::test
