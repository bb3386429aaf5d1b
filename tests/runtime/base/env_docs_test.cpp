#include "runtime/base/env.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace {

TEST(env, the_documentation_page_is_made_from_the_table) {
    std::ifstream page(CONVROT_SOURCE_DIR "/docs/environment.md");
    ASSERT_TRUE(page.is_open());
    std::stringstream text;
    text << page.rdbuf();
    EXPECT_NE(text.str().find(ggml::env_markdown()), std::string::npos)
        << "docs/environment.md must contain:\n"
        << ggml::env_markdown();
}

} // namespace
