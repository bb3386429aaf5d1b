#include "runtime/base/env.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <set>

namespace {

using namespace ggml;

constexpr const char * kColours[] = {"red", "green", "blue"};
constexpr EnvVariable kColour = {"COLOUR", kColours, "A colour."};

TEST(env, takes_a_listed_value) {
    const EnvSetting setting = parse_env(kColour, "blue");
    EXPECT_TRUE(setting.status.ok());
    EXPECT_TRUE(setting.is_set);
    EXPECT_EQ(setting.index, 2);
}

TEST(env, takes_the_default_when_unset_or_empty) {
    for (const char * text : {static_cast<const char *>(nullptr), ""}) {
        const EnvSetting setting = parse_env(kColour, text);
        EXPECT_TRUE(setting.status.ok());
        EXPECT_FALSE(setting.is_set);
        EXPECT_EQ(setting.index, 0);
    }
}

TEST(env, refuses_an_unknown_value_and_lists_the_valid_ones) {
    for (const char * text : {"purple", "Red", "red ", "re"}) {
        const EnvSetting setting = parse_env(kColour, text);
        EXPECT_FALSE(setting.status.ok()) << text;
        EXPECT_STREQ(setting.status.reason_id, "env.unknown_value");
        EXPECT_EQ(setting.status.detail,
                  std::string("COLOUR=") + text + ": not a known value; valid: red, green, blue; using red");
        EXPECT_EQ(setting.index, 0);
    }
}

TEST(env, table_is_complete_and_without_duplicates) {
    std::set<std::string> names;
    for (int i = 0; i < int(EnvId::count); ++i) {
        const EnvVariable & variable = env_variable(EnvId(i));
        EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
        EXPECT_FALSE(variable.values.empty());
        EXPECT_EQ(std::string(variable.sentence).back(), '.');
    }
}

TEST(env, is_read_once) {
    const EnvSetting before = env_setting(EnvId::cpu_isa);
    setenv("GGML_CPU_ISA", "not an instruction set", 1);
    EXPECT_EQ(env_setting(EnvId::cpu_isa).index, before.index);
    EXPECT_TRUE(env_setting(EnvId::cpu_isa).status.ok());
    unsetenv("GGML_CPU_ISA");
}

TEST(env, markdown_has_a_row_for_every_variable) {
    const std::string text = env_markdown();
    for (int i = 0; i < int(EnvId::count); ++i) {
        const EnvVariable & variable = env_variable(EnvId(i));
        EXPECT_NE(text.find(std::string("| `") + variable.name + "` | `" + variable.values[0] + "`, `"),
                  std::string::npos);
        EXPECT_NE(text.find(variable.sentence), std::string::npos);
    }
    EXPECT_EQ(text.rfind("| Variable | Values | Default | Meaning |\n", 0), 0u);
}

} // namespace
