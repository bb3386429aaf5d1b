#include "apps/cli/without_effect.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

using Lines = std::vector<std::string>;

// What is said about a command line, after the program's name.
Lines said(std::vector<std::string> words) {
    words.insert(words.begin(), "sd-cli");
    std::vector<char *> argv;
    for (std::string & word : words) argv.push_back(word.data());
    Arguments arguments;
    int status = 0;
    EXPECT_TRUE(parse(int(argv.size()), argv.data(), arguments, status));
    return without_effect(arguments);
}

TEST(without_effect, nothing_is_said_about_options_that_work) {
    EXPECT_EQ(said({"-p", "x", "-n", "y", "--steps", "3", "-W", "64", "-t", "2", "-v"}), Lines());
    EXPECT_EQ(said({"-i", "a.png", "--strength", "0.5", "--mask", "m.png"}), Lines());
    EXPECT_EQ(said({"--vae-tiling", "--vae-tile-size", "16", "--preview", "proj", "--preview-path", "x.png"}),
              Lines());
    EXPECT_EQ(said({"-b", "2", "--output-begin-idx", "3"}), Lines());
    EXPECT_EQ(said({"-o", "a%d.png", "--output-begin-idx", "3"}), Lines());
    EXPECT_EQ(said({"-M", "convert", "-m", "x", "--type", "f16", "-o", "y.gguf", "-t", "2", "--color"}),
              Lines());
    EXPECT_EQ(said({"-M", "inspect", "-m", "x", "--json"}), Lines());
    EXPECT_EQ(said({"-M", "metadata", "--image", "x", "--metadata-format", "json"}), Lines());
    EXPECT_EQ(said({"--offload-to-cpu", "--fa"}), Lines());
}

TEST(without_effect, each_that_changes_nothing_is_named_once) {
    EXPECT_EQ(said({"--strength", "0.5"}), Lines{"--strength is for --init-img, which is not given"});
    EXPECT_EQ(said({"-n", "y", "--cfg-scale", "1"}),
              Lines{"--negative-prompt has no effect at --cfg-scale 1"});
    EXPECT_EQ(said({"--sigmas", "1,0.5,0", "--steps", "3", "--flow-shift", "2"}),
              (Lines{"--flow-shift has no effect with --sigmas", "--steps has no effect with --sigmas"}));
    EXPECT_EQ(
        said({"--vae-tile-overlap", "0.25"}),
        Lines{"--vae-tile-overlap has no effect without --vae-tiling, unless memory makes tiles necessary"});
    EXPECT_EQ(said({"--vae-tiling", "--vae-tile-size", "8", "--vae-relative-tile-size", "2"}),
              Lines{"--vae-tile-size gives way to --vae-relative-tile-size"});
    EXPECT_EQ(said({"--preview-interval", "2"}), Lines{"--preview-interval has no effect without --preview"});
    EXPECT_EQ(said({"--output-begin-idx", "2"}).size(), 1u);
}

TEST(without_effect, options_of_other_modes_are_named) {
    EXPECT_EQ(said({"-M", "convert", "-p", "x", "--steps", "2"}),
              (Lines{"--prompt has no effect with -M convert", "--steps has no effect with -M convert"}));
    EXPECT_EQ(said({"--json"}), Lines{"--json has no effect with -M img_gen"});
    EXPECT_EQ(said({"-M", "metadata", "--image", "x", "-m", "y"}),
              Lines{"--model has no effect with -M metadata"});
    EXPECT_EQ(said({"-M", "inspect", "--image", "x"}), Lines{"--image has no effect with -M inspect"});
}

} // namespace
} // namespace cli
