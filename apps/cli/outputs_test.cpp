#include "apps/cli/outputs.h"

#include "apps/cli/test_folder.h"

namespace cli {
namespace {

class Outputs : public test::TestFolder {
  protected:
    void SetUp() override {
        TestFolder::SetUp();
        a.model = put("model.gguf", "m");
        a.output = path("cat.png");
    }
    // The path that is refused, in the folder; "" when nothing is.
    std::string refused() const {
        std::string error;
        const auto none = [](const std::string &) { return false; };
        if (check_distinct(a, in, none, error)) return "";
        const std::string cause = ": would be written over, but it is also used for something else";
        EXPECT_TRUE(error.starts_with(folder_.string() + "/") && error.ends_with(cause)) << error;
        const size_t begin = folder_.string().size() + 1;
        return error.substr(begin, error.size() - cause.size() - begin);
    }

    Arguments a;
    Inputs in;
};

TEST_F(Outputs, of_a_batch_are_all_looked_at) {
    a.init_image = put("cat_1.png", "i");
    EXPECT_EQ(refused(), "");
    a.batch_count = 3;
    EXPECT_EQ(refused(), "cat_1.png");
    a.batch_count = 1;
    a.preview = "proj";
    a.preview_path = path("cat_2.png");
    EXPECT_EQ(refused(), "");
    a.batch_count = 3;
    a.init_image = "";
    EXPECT_EQ(refused(), "cat_2.png");
}

TEST_F(Outputs, are_no_adapters_and_no_files_that_only_the_engine_knows) {
    in.prompts[0].loras = {{put("style_1.png", "a"), 1.0f}};
    a.output = path("style.png");
    a.batch_count = 2;
    EXPECT_EQ(refused(), "style_1.png");
    in.prompts[0].loras.clear();
    std::string error;
    const std::string shard = path("style_1.png");
    EXPECT_FALSE(check_distinct(
        a, in, [&](const std::string & name) { return name == shard; }, error));
    EXPECT_EQ(error, shard + ": would be written over, but it is also used for something else");
}

TEST_F(Outputs, previews_are_looked_at_with_their_ending) {
    a.init_image = put("in.png", "i");
    a.preview_path = path("in");
    EXPECT_EQ(refused(), "");
    a.preview = "proj";
    EXPECT_EQ(refused(), "in.png");
}

TEST_F(Outputs, links_are_the_files_they_lead_to) {
    std::filesystem::create_hard_link(path("model.gguf"), path("hard.png"));
    std::filesystem::create_symlink("model.gguf", path("link.png"));
    std::filesystem::create_directory_symlink(".", path("here"));
    for (const char * name : {"hard.png", "link.png", "here/model.gguf"}) {
        a.explain = path(name);
        EXPECT_EQ(refused(), name);
    }
    a.explain = path("here/cat.png");
    EXPECT_EQ(refused(), "here/cat.png") << "which does not exist yet";
}

TEST_F(Outputs, devices_may_take_several) {
    a.explain = a.dump_tensors = a.trace = "/dev/null";
    EXPECT_EQ(refused(), "");
}

} // namespace
} // namespace cli
