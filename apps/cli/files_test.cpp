#include "apps/cli/atomic_file.h"
#include "apps/cli/read_file.h"
#include "apps/cli/test_folder.h"

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cli {
namespace {

using Files = test::TestFolder;

TEST_F(Files, writing_makes_folders_and_leaves_one_file) {
    std::string error;
    ASSERT_TRUE(write_file(path("a/b/c.txt"), "abc", 3, error)) << error;
    EXPECT_EQ(get("a/b/c.txt"), "abc");
    ASSERT_TRUE(write_file(path("a/b/c.txt"), "de", 2, error)) << error;
    EXPECT_EQ(get("a/b/c.txt"), "de");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "a/b"), {}), 1);
}

TEST_F(Files, a_link_stays_and_permissions_too) {
    put("real", "old");
    ASSERT_EQ(::chmod(path("real").c_str(), 0640), 0);
    std::filesystem::create_symlink("real", folder_ / "link");
    std::string error;
    ASSERT_TRUE(write_file(path("link"), "new", 3, error)) << error;
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
    EXPECT_EQ(get("real"), "new");
    struct stat info = {};
    ASSERT_EQ(::stat(path("real").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(Files, what_cannot_be_written_is_refused_and_changes_nothing) {
    std::string error;
    put("file", "old");
    EXPECT_FALSE(write_file(path("file/under"), "x", 1, error));
    EXPECT_EQ(error, path("file/under") + ": its folder cannot be made: Not a directory");
    EXPECT_FALSE(can_write_file(folder_.string(), error));
    EXPECT_EQ(error, folder_.string() + ": is a folder");
    EXPECT_FALSE(can_write_file(path("none/"), error));
    EXPECT_EQ(error, path("none/") + ": is no name of a file");
    std::filesystem::create_symlink("/dev/full", folder_ / "full");
    EXPECT_FALSE(write_file(path("full"), "x", 1, error));
    EXPECT_EQ(error, path("full") + ": cannot be written: No space left on device");
    EXPECT_EQ(names(), (std::vector<std::string>{"file", "full"}));
    EXPECT_EQ(get("file"), "old");
}

TEST_F(Files, a_program_that_is_killed_while_writing_leaves_nothing) {
    const int nameless = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (nameless >= 0) ::close(nameless);
    put("file", "old");
    const auto killed_by_the_limit = [&](const char * name) {
        const rlimit bytes = {1000, 1000}, none = {0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        ::setrlimit(RLIMIT_FSIZE, &bytes);
        std::signal(SIGXFSZ, SIG_DFL);
        const std::string data(100000, 'x');
        std::string error;
        write_file(path(name), data.data(), data.size(), error);
    };
    EXPECT_EXIT(killed_by_the_limit("file"), testing::KilledBySignal(SIGXFSZ), "");
    EXPECT_EXIT(killed_by_the_limit("new"), testing::KilledBySignal(SIGXFSZ), "");
    EXPECT_EQ(get("file"), "old");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
    // Where the file system has no files without a name, the unfinished ones stay.
    if (nameless >= 0) {
        EXPECT_EQ(names(), (std::vector<std::string>{"file"}));
    }
}

TEST_F(Files, asking_leaves_nothing) {
    std::string error;
    EXPECT_TRUE(can_write_file(path("new.png"), error));
    EXPECT_TRUE(names().empty());
    put("old.png", "old");
    EXPECT_TRUE(can_write_file(path("old.png"), error));
    EXPECT_EQ(get("old.png"), "old");
}

TEST_F(Files, reading_has_a_bound) {
    std::vector<uint8_t> bytes;
    std::string error;
    const std::string file = put("a", std::string(3 << 20, 'x'));
    EXPECT_TRUE(read_file(file, 3 << 20, bytes, error));
    EXPECT_EQ(bytes.size(), size_t(3 << 20));
    EXPECT_FALSE(read_file(file, 2 << 20, bytes, error));
    EXPECT_EQ(error, file + ": is larger than 2 MiB");
}

TEST_F(Files, an_endless_file_is_refused_too) {
    std::vector<uint8_t> bytes;
    std::string error;
    EXPECT_FALSE(read_file("/dev/zero", 1 << 20, bytes, error));
    EXPECT_EQ(error, "/dev/zero: is not a regular file");
}

TEST_F(Files, prompts_are_text_and_stay_as_they_are) {
    std::string prompt, error;
    EXPECT_TRUE(read_prompt(put("a", " a \xe7\x8c\xab\n"), prompt, error));
    EXPECT_EQ(prompt, " a \xe7\x8c\xab\n");
    EXPECT_TRUE(read_prompt(put("a", ""), prompt, error));
    EXPECT_EQ(prompt, "");
    EXPECT_FALSE(read_prompt(put("a", "ab\xff"), prompt, error));
    EXPECT_EQ(error, path("a") + ": is not valid UTF-8 at byte 2");
    EXPECT_FALSE(read_prompt(put("a", std::string("a\0b", 3)), prompt, error));
    EXPECT_EQ(error, path("a") + ": a prompt cannot hold a zero byte");
    EXPECT_FALSE(read_prompt(put("a", std::string((4 << 20) + 1, 'x')), prompt, error));
    EXPECT_EQ(error, path("a") + ": is larger than 4 MiB");
}

} // namespace
} // namespace cli
