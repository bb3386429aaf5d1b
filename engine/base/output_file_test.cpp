#include "base/output_file.h"

#include "checkpoint/test_folder.h"

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sd {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public test::TestFolder {
  protected:
    size_t files() const { return size_t(std::distance(fs::directory_iterator(folder_), {})); }
    std::string text(const std::string & name) const {
        std::ifstream in(folder_ / name, std::ios::binary);
        return std::string((std::istreambuf_iterator<char>(in)), {});
    }
};

void write(OutputFile & out, const std::string & text) { out.write(text.data(), text.size()); }

TEST_F(OutputFileTest, is_there_when_it_is_finished_and_not_before) {
    std::string expected;
    OutputFile out(path("f"));
    for (const size_t bytes : {1, 0, 70000, 300000, 262144, 5, 262143, 1}) {
        const std::string piece(bytes, char('a' + expected.size() % 26));
        write(out, piece);
        expected += piece;
    }
    EXPECT_EQ(out.written(), expected.size());
    EXPECT_FALSE(fs::exists(path("f")));
    out.finish();
    EXPECT_EQ(text("f"), expected);
    EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, leaves_the_old_target_until_then) {
    put("f", "old");
    {
        OutputFile out(path("f"));
        write(out, std::string(1 << 20, 'n'));
    }
    EXPECT_EQ(text("f"), "old");
    EXPECT_EQ(files(), 1u);
    OutputFile out(path("f"));
    write(out, "new");
    out.finish();
    EXPECT_EQ(text("f"), "new");
}

TEST_F(OutputFileTest, keeps_permissions_and_links) {
    put("f", "old");
    ::chmod(path("f").c_str(), 0640);
    fs::create_symlink("f", folder_ / "link");
    OutputFile out(path("link"));
    write(out, "new");
    out.finish();
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(text("f"), "new");
    struct stat info = {};
    ASSERT_EQ(::stat(path("f").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(OutputFileTest, two_of_the_same_target_do_not_meet) {
    OutputFile a(path("f")), b(path("f"));
    write(a, "a");
    write(b, "b");
    b.finish();
    a.finish();
    EXPECT_EQ(text("f"), "a");
    EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, targets_that_cannot_be_are_refused_at_once) {
    const auto line = [&](const std::string & target) {
        return test::refusal_of([&] { OutputFile out(target); });
    };
    EXPECT_EQ(line(path("no/f")), path("no/f") + ": cannot be written: No such file or directory");
    EXPECT_EQ(line(folder_.string()), folder_.string() + ": is a folder (name a file in it)");
    EXPECT_EQ(line(path("no/")), path("no/") + ": is not the name of a file");
    EXPECT_EQ(line(""), "is not the name of a file");
    EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, long_names_and_names_without_a_folder_work) {
    const std::string longest(255, 'n');
    OutputFile out(path(longest));
    out.finish();
    EXPECT_EQ(text(longest), "");
    const fs::path before = fs::current_path();
    fs::current_path(folder_);
    OutputFile here("f");
    write(here, "here");
    here.finish();
    fs::current_path(before);
    EXPECT_EQ(text("f"), "here");
}

TEST_F(OutputFileTest, a_full_disk_is_an_error_that_names_the_file) {
    OutputFile out("/dev/full");
    EXPECT_EQ(test::refusal_of([&] {
                  write(out, "x");
                  out.finish();
              }),
              "/dev/full: cannot be written: No space left on device");
}

TEST_F(OutputFileTest, a_program_that_is_killed_leaves_nothing) {
    const int nameless = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (nameless >= 0) ::close(nameless);
    put("f", "old");
    const auto killed = [&](const char * name) {
        OutputFile out(path(name));
        write(out, std::string(1 << 20, 'n'));
        ::raise(SIGKILL);
    };
    EXPECT_EXIT(killed("f"), testing::KilledBySignal(SIGKILL), "");
    EXPECT_EXIT(killed("new"), testing::KilledBySignal(SIGKILL), "");
    EXPECT_EQ(text("f"), "old");
    EXPECT_FALSE(fs::exists(path("new")));
    // Where the file system has no files without a name, the unfinished ones stay.
    if (nameless >= 0) {
        EXPECT_EQ(files(), 1u);
    }
}

TEST_F(OutputFileTest, devices_are_written_directly) {
    OutputFile out("/dev/null");
    out.reserve(uint64_t(1) << 60);
    write(out, "x");
    out.finish();
    EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

TEST_F(OutputFileTest, nothing_stays_behind_when_writing_stops_in_the_middle) {
    struct rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {1 << 20, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string line = test::refusal_of([&] {
        OutputFile out(path("f"));
        for (int i = 0; i < 20; ++i) write(out, std::string(100000, 'x'));
        out.finish();
    });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(line, path("f") + ": cannot be written: File too large");
    EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, more_than_the_disk_has_is_refused_before_anything_is_written) {
    OutputFile out(path("f"));
    out.reserve(0);
    out.reserve(1 << 20);
    const std::string line = test::refusal_of([&] { out.reserve(uint64_t(1) << 55); });
    EXPECT_EQ(line.find(path("f") + ": cannot be written: "), 0u) << line;
    EXPECT_EQ(test::refusal_of([&] { out.reserve(UINT64_MAX); }),
              path("f") + ": cannot be written: File too large");
    write(out, "x");
    out.finish();
    EXPECT_EQ(text("f"), "x");
}

} // namespace
} // namespace sd
