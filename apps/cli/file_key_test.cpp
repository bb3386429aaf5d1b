#include "apps/cli/file_key.h"

#include "apps/cli/test_folder.h"

namespace cli {
namespace {

using FileKeys = test::TestFolder;

TEST_F(FileKeys, are_the_same_for_links_and_ways_around) {
    const std::string file = put("a.png", "x");
    std::filesystem::create_hard_link(file, path("hard"));
    std::filesystem::create_symlink("a.png", path("soft"));
    std::filesystem::create_directory_symlink(".", path("here"));
    for (const char * name : {"hard", "soft", "here/a.png", "new/../a.png", "new/deep/../../soft"})
        EXPECT_TRUE(same_file(file, path(name))) << name;
    EXPECT_FALSE(same_file(file, put("b.png", "x")));
    EXPECT_FALSE(same_file(file, path("new/a.png")));
}

TEST_F(FileKeys, are_the_same_before_the_file_is_there) {
    std::filesystem::create_symlink("out.png", path("to_nothing"));
    std::filesystem::create_symlink("to_nothing", path("twice"));
    for (const char * name : {"./out.png", "to_nothing", "twice", "new/../out.png", "new/../twice"})
        EXPECT_TRUE(same_file(path("out.png"), path(name))) << name;
    EXPECT_FALSE(same_file(path("out.png"), path("other.png")));
}

TEST_F(FileKeys, of_links_in_a_circle_are_some_text) {
    std::filesystem::create_symlink("two", path("one"));
    std::filesystem::create_symlink("one", path("two"));
    EXPECT_FALSE(same_file(path("one"), path("three")));
}

TEST_F(FileKeys, of_devices_are_none) {
    EXPECT_EQ(file_key("/dev/null"), "");
    EXPECT_FALSE(same_file("/dev/null", "/dev/null"));
}

} // namespace
} // namespace cli
