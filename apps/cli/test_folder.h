// For tests: a folder of small files that is gone after the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace cli::test {

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

    std::string put(const std::string & name, const std::string & bytes) const {
        std::ofstream(path(name), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
        return path(name);
    }
    std::string get(const std::string & name) const {
        std::ifstream in(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    // Names in the folder, hidden ones too.
    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (const auto & entry : std::filesystem::directory_iterator(folder_))
            out.push_back(entry.path().filename().string());
        std::sort(out.begin(), out.end());
        return out;
    }

    std::filesystem::path folder_;
};

} // namespace cli::test
