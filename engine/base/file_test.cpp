#include "base/file.h"

#include "checkpoint/test_folder.h"

#include <csignal>
#include <cstring>
#include <sys/stat.h>
#include <thread>

namespace sd {
namespace {

using FileTest = test::TestFolder;
using MappedFileTest = test::TestFolder;

std::string read(const File & file, uint64_t offset, size_t bytes) {
    std::string text(bytes, '\0');
    file.read(offset, text.data(), bytes);
    return text;
}

std::string pattern(size_t bytes) {
    std::string text(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) text[i] = char(1 + i % 127);
    return text;
}

TEST_F(FileTest, is_read_at_any_place) {
    const File file = File::open(put("f", "0123456789"));
    EXPECT_EQ(file.size(), 10u);
    EXPECT_EQ(file.path(), path("f"));
    EXPECT_EQ(read(file, 0, 10), "0123456789");
    EXPECT_EQ(read(file, 7, 3), "789");
    EXPECT_EQ(read(file, 10, 0), "");
}

TEST_F(FileTest, bytes_in_memory_behave_like_a_file) {
    const File file = File::of_bytes("name", {std::byte('a'), std::byte('b')});
    EXPECT_EQ(file.path(), "name");
    EXPECT_EQ(read(file, 1, 1), "b");
    EXPECT_EQ(test::refusal_of([&] { read(file, 1, 2); }),
              "name: ends at byte 2, but 2 bytes from byte 1 on are needed (the file is incomplete: fetch it "
              "again)");
    EXPECT_EQ(std::memcmp(MappedFile::map(file).data(), "ab", 2), 0);
}

TEST_F(FileTest, a_place_outside_is_refused_whatever_the_numbers) {
    const File file = File::open(put("f", "0123456789"));
    const std::string end = path("f") + ": ends at byte 10, but ";
    const std::string advice = " on are needed (the file is incomplete: fetch it again)";
    EXPECT_EQ(test::refusal_of([&] { read(file, 11, 0); }), end + "0 bytes from byte 11" + advice);
    char c;
    EXPECT_EQ(test::refusal_of([&] { file.read(UINT64_MAX, &c, 1); }),
              end + "1 bytes from byte 18446744073709551615" + advice);
    EXPECT_EQ(test::refusal_of([&] { file.read(1, &c, SIZE_MAX); }),
              end + "18446744073709551615 bytes from byte 1" + advice);
}

TEST_F(FileTest, becoming_shorter_while_open_is_an_error) {
    const File file = File::open(put("f", "0123456789"));
    std::filesystem::resize_file(path("f"), 4);
    EXPECT_EQ(test::refusal_of([&] { read(file, 2, 5); }),
              path("f") + ": became shorter while it was read: byte 4 of 10 is gone");
}

TEST_F(FileTest, what_is_no_regular_file_is_refused_without_waiting) {
    const std::string pipe = path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(test::refusal_of([&] { File::open(pipe); }), pipe + ": is not a regular file");
    EXPECT_EQ(test::refusal_of([&] { File::open("/dev/zero"); }), "/dev/zero: is not a regular file");
    EXPECT_EQ(test::refusal_of([&] { File::open(path("")); }),
              path("") + ": is a folder (name a file in it)");
    EXPECT_EQ(test::refusal_of([&] { File::open(path("no")); }), path("no") + ": No such file or directory");
    EXPECT_EQ(test::refusal_of([&] { File::open(""); }), "No such file or directory");
}

TEST_F(MappedFileTest, shows_the_bytes_of_the_file) {
    const std::string text = pattern(100000);
    const MappedFile map = MappedFile::map(File::open(put("f", text)));
    ASSERT_EQ(map.size(), text.size());
    map.will_need(5000, 20000);
    EXPECT_EQ(std::memcmp(map.data(), text.data(), text.size()), 0);
    map.drop(0, UINT64_MAX);
    map.drop(UINT64_MAX, 1);
    EXPECT_EQ(std::memcmp(map.data(), text.data(), text.size()), 0);
    EXPECT_FALSE(map.damaged());
    map.check();
    EXPECT_EQ(MappedFile::map(File::open(put("empty", ""))).size(), 0u);
}

TEST_F(MappedFileTest, pages_that_vanish_read_as_zeros_and_are_reported) {
    const File file = File::open(put("f", pattern(1 << 20)));
    const MappedFile map = MappedFile::map(file), other = MappedFile::map(File::open(put("g", "g")));
    std::filesystem::resize_file(path("f"), 4096);
    const auto * bytes = reinterpret_cast<const volatile char *>(map.data());
    EXPECT_EQ(bytes[10], char(11));
    EXPECT_FALSE(map.damaged());
    EXPECT_EQ(bytes[500000], 0);
    EXPECT_TRUE(map.damaged());
    EXPECT_EQ(bytes[(1 << 20) - 1], 0);
    EXPECT_EQ(test::refusal_of([&] { map.check(); }),
              path("f") +
                  ": was cut short or could not be read while it was in use (leave model files alone while "
                  "they are in use)");
    EXPECT_FALSE(other.damaged());
    // A new mapping of the file starts anew.
    EXPECT_FALSE(MappedFile::map(File::open(path("f"))).damaged());
}

TEST_F(MappedFileTest, many_threads_may_meet_the_damage_at_once) {
    const MappedFile map = MappedFile::map(File::open(put("f", pattern(4 << 20))));
    std::filesystem::resize_file(path("f"), 0);
    std::vector<std::thread> threads;
    std::vector<int64_t> sums(4);
    for (size_t t = 0; t < sums.size(); ++t) {
        threads.emplace_back([&, t] {
            const auto * bytes = reinterpret_cast<const volatile char *>(map.data());
            for (size_t i = t; i < map.size(); i += 511) sums[t] += bytes[i];
        });
    }
    for (std::thread & thread : threads) thread.join();
    EXPECT_EQ(sums, std::vector<int64_t>(4));
    EXPECT_TRUE(map.damaged());
}

TEST_F(MappedFileTest, more_than_a_thousand_at_once_are_refused_and_slots_come_back) {
    const File file = File::open(put("f", "x"));
    std::vector<MappedFile> maps;
    const std::string line = test::refusal_of([&] {
        for (int i = 0; i < 2000; ++i) maps.push_back(MappedFile::map(file));
    });
    EXPECT_EQ(line, path("f") + ": too many files are mapped at once");
    EXPECT_GE(maps.size(), 1000u);
    maps.clear();
    EXPECT_EQ(MappedFile::map(file).data()[0], std::byte('x'));
}

using MappedFileDeathTest = MappedFileTest;

TEST_F(MappedFileDeathTest, faults_outside_of_mapped_files_still_end_the_program) {
    const MappedFile map = MappedFile::map(File::open(put("f", "x")));
    EXPECT_DEATH(::raise(SIGBUS), "");
}

} // namespace
} // namespace sd
