#include "apps/cli/bundled_model.h"

#include "apps/cli/test_folder.h"

namespace cli {
namespace {

class BundledFiles : public test::TestFolder {
  protected:
    void put_in(const std::string & folder) {
        std::filesystem::create_directories(path(folder));
        for (const char * name :
             {"demo-krea2-int8-convrot.safetensors", "demo-qwen3-vl-q8_0.gguf", "demo-wan-vae.safetensors"})
            put(folder + "/" + name, "x");
    }
};

TEST_F(BundledFiles, are_in_the_share_folder_of_the_tree) {
    EXPECT_FALSE(find_bundled_model(path("bin")));
    put_in("share/convrot/demo");
    const auto found = find_bundled_model(path("bin"));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->diffusion_model, path("share/convrot/demo/demo-krea2-int8-convrot.safetensors"));
    EXPECT_EQ(found->llm, path("share/convrot/demo/demo-qwen3-vl-q8_0.gguf"));
    EXPECT_EQ(found->vae, path("share/convrot/demo/demo-wan-vae.safetensors"));
}

TEST_F(BundledFiles, beside_the_program_go_first) {
    put_in("share/convrot/demo");
    put_in("bin/demo");
    const auto found = find_bundled_model(path("bin"));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->vae, path("bin/demo/demo-wan-vae.safetensors"));
    // Some of the files are not a model.
    std::filesystem::remove(path("bin/demo/demo-wan-vae.safetensors"));
    EXPECT_EQ(find_bundled_model(path("bin"))->vae, path("share/convrot/demo/demo-wan-vae.safetensors"));
}

TEST_F(BundledFiles, give_way_to_any_model_on_the_command_line) {
    for (const char * option : {"--model", "--diffusion-model", "--llm", "--vae"}) {
        Arguments a;
        a.given = {{option, "Model files"}}; // maybe with an empty name
        EXPECT_EQ(use_bundled_model(a), "");
        EXPECT_EQ(a.model + a.diffusion_model + a.llm + a.vae, "");
    }
}

} // namespace
} // namespace cli
