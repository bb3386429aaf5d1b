#include "apps/cli/lora_tags.h"

#include "apps/cli/test_folder.h"

namespace cli {
namespace {

class LoraTags : public test::TestFolder {
  protected:
    // The prompt that is left, and the adapters as "name strength"; or the error.
    std::string taken(std::string prompt) const {
        std::vector<Lora> loras;
        std::string error;
        if (!take_lora_tags(folder_.string(), prompt, loras, error)) return "error: " + error;
        for (const Lora & lora : loras) {
            prompt += '|';
            prompt += lora.path.substr(folder_.string().size() + 1);
            prompt += ' ';
            prompt += std::to_string(lora.strength);
        }
        return prompt;
    }
};

TEST_F(LoraTags, are_cut_out_and_nothing_else_is) {
    put("x.safetensors", "");
    put("y", "");
    EXPECT_EQ(taken("a dog <lora:x:0.8>"), "a dog |x.safetensors 0.800000");
    EXPECT_EQ(taken("<lora:x:1>a (<lora:y:-.5>big) dog"), "a (big) dog|x.safetensors 1.000000|y -0.500000");
    EXPECT_EQ(taken("<lora:x:1><lora:x:+2>"), "|x.safetensors 1.000000|x.safetensors 2.000000");
    EXPECT_EQ(taken("a dog <b>"), "a dog <b>");
    EXPECT_EQ(taken(""), "");
}

TEST_F(LoraTags, names_may_have_endings_folders_and_any_letters) {
    std::filesystem::create_directories(folder_ / "sub");
    put("sub/ü 模.gguf", "");
    put("both", "");
    put("both.safetensors", "");
    EXPECT_EQ(taken("<lora:sub/ü 模:1>"), "|sub/ü 模.gguf 1.000000");
    EXPECT_EQ(taken("<lora:sub/ü 模.gguf:1>"), "|sub/ü 模.gguf 1.000000");
    EXPECT_EQ(taken("<lora:both:1>"), "|both 1.000000");
    EXPECT_EQ(taken("<lora:" + path("both") + ":1>"), "|both 1.000000");
}

TEST_F(LoraTags, names_that_lead_out_of_the_folder_are_refused) {
    put("x.safetensors", "");
    std::filesystem::create_directories(folder_ / "sub");
    for (const char * name : {"../x", "sub/../x", "sub/../../x", ".."})
        EXPECT_NE(taken(std::string("<lora:") + name + ":1>").find("leads out of its folder"),
                  std::string::npos)
            << name;
}

TEST_F(LoraTags, files_that_are_not_there_are_named_with_their_folder) {
    EXPECT_EQ(taken("<lora:none:1>"), "error: there is no adapter \"none\" in the folder " +
                                          folder_.string() + " (--lora-model-dir DIR names another one)");
    std::filesystem::create_directories(folder_ / "folder.safetensors");
    EXPECT_NE(taken("<lora:folder:1>").find("there is no adapter"), std::string::npos);
    std::string prompt = "<lora:x:1>", error;
    std::vector<Lora> loras;
    EXPECT_FALSE(take_lora_tags(path("nowhere"), prompt, loras, error));
    EXPECT_EQ(error,
              "there is no folder " + path("nowhere") + " with adapters (--lora-model-dir DIR names one)");
}

TEST_F(LoraTags, tags_that_are_not_whole_are_refused) {
    put("x.safetensors", "");
    for (const char * tag : {"<lora:x>", "<lora:x:>", "<lora:x:much>", "<lora:x:1.5b>", "<lora::1>",
                             "<lora:>", "<lora:x:inf>", "<lora:x:nan>", "<lora:x:1:2>"})
        EXPECT_EQ(taken(tag), "error: the prompt's \"" + std::string(tag) +
                                  "\" is no adapter: <lora:NAME:STRENGTH>, as <lora:style:0.8>");
    EXPECT_EQ(taken("a <lora:x:1"), "error: the prompt's <lora: has no end: <lora:NAME:STRENGTH>");
    EXPECT_NE(taken("<lora:|high_noise|x:1>").find("two-stage sampling"), std::string::npos);
}

} // namespace
} // namespace cli
