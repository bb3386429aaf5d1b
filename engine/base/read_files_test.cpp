#include "base/read_files.h"

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/test_folder.h"

namespace sd {
namespace {

namespace fs = std::filesystem;

using ReadFilesTest = test::TestFolder;

TEST_F(ReadFilesTest, are_what_a_thread_opens_while_it_is_recorded) {
    const std::string before = put("before", "a"), opened = put("opened", "b"), after = put("after", "c");
    File::open(before);
    ReadFiles files;
    {
        const ReadFiles::Recording recording(files);
        File::open(opened);
        File::open(opened);
        EXPECT_THROW(File::open(path("none")), Error);
    }
    File::open(after);
    EXPECT_EQ(files.paths(), std::vector<std::string>{opened});
    EXPECT_FALSE(files.has(before) || files.has(after) || files.has(path("none")));
}

TEST_F(ReadFilesTest, are_the_same_under_every_name) {
    ReadFiles files;
    files.add(put("f", "text"));
    files.add(path("none"));
    fs::create_symlink("f", folder_ / "link");
    fs::create_hard_link(path("f"), path("hard"));
    put("other", "text");
    for (const char * name : {"f", "link", "hard", "./f"}) EXPECT_TRUE(files.has(path(name))) << name;
    for (const char * name : {"other", "none", ""}) EXPECT_FALSE(files.has(path(name))) << name;
    files.refuse(path("other"));
    EXPECT_EQ(test::refusal_of([&] { files.refuse(path("link")); }),
              path("link") + ": is the file that is read (choose another output)");
}

TEST_F(ReadFilesTest, of_a_model_in_shards_are_index_and_shards) {
    put_tensors("a.safetensors", {"x"});
    put_tensors("b.safetensors", {"y"});
    put("m.index.json", R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors"}})");
    ReadFiles files;
    const ReadFiles::Recording recording(files);
    Checkpoint().add(path("m.index.json"));
    for (const char * name : {"m.index.json", "a.safetensors", "b.safetensors"})
        EXPECT_TRUE(files.has(path(name))) << name;
}

TEST_F(ReadFilesTest, outputs_are_the_same_before_they_exist_too) {
    fs::create_directory_symlink(".", folder_ / "here");
    put("old", "text");
    EXPECT_TRUE(same_output(path("new"), path("./new")));
    EXPECT_TRUE(same_output(path("new"), path("here/new")));
    EXPECT_TRUE(same_output(path("old"), path("here/old")));
    EXPECT_FALSE(same_output(path("old"), path("new")));
    EXPECT_TRUE(same_output("there is no such file", "./there is no such file"));
    EXPECT_FALSE(same_output("/dev/null", "/dev/null"));
}

} // namespace
} // namespace sd
