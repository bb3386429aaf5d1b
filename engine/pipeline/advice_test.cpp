#include "pipeline/advice.h"

#include "base/log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sd {
namespace {

struct Log {
    std::vector<std::string> lines;
    Log() {
        set_log_sink(
            [](LogLevel, const char * text, void * data) { static_cast<Log *>(data)->lines.push_back(text); },
            this);
    }
    ~Log() { set_log_sink(nullptr, nullptr); }
};

Container holding(std::map<std::string, std::string> metadata) {
    Container container = {};
    container.metadata = std::move(metadata);
    return container;
}

TEST(advice, is_what_the_metadata_say) {
    const Advice a = advice_of(holding({{"generation.width", "64"},
                                        {"generation.height", "48"},
                                        {"generation.steps", "12"},
                                        {"generation.cfg_scale", "3.5"},
                                        {"generation.flow_shift", "-0.5"},
                                        {"generation.sampling_method", "heun"},
                                        {"generation.scheduler", "simple"}}),
                               "a/turbo.safetensors");
    EXPECT_EQ(a.width, 64);
    EXPECT_EQ(a.height, 48);
    EXPECT_EQ(a.steps, 12);
    EXPECT_EQ(a.cfg_scale, 3.5f);
    EXPECT_EQ(a.flow_shift, -0.5f);
    EXPECT_EQ(a.sampler, "heun");
    EXPECT_EQ(a.scheduler, "simple");
    EXPECT_FALSE(a.by_name);
    const Advice zero = advice_of(holding({{"generation.cfg_scale", "-0"}}), "m");
    EXPECT_FALSE(std::signbit(zero.cfg_scale.value()));
}

TEST(advice, one_size_alone_is_none) {
    Log log;
    const Advice a = advice_of(holding({{"generation.width", "64"}}), "m.safetensors");
    EXPECT_FALSE(a.width || a.height);
    EXPECT_EQ(log.lines,
              std::vector<std::string>{"m.safetensors: its metadata advise one of generation.width and "
                                       "generation.height, which count together: it is not used"});
}

TEST(advice, there_is_none_without_metadata) {
    const Advice a = advice_of(holding({}), "turbo/model.safetensors");
    EXPECT_FALSE(a.width || a.height || a.steps || a.cfg_scale || a.flow_shift || a.by_name);
    EXPECT_EQ(a.sampler + a.scheduler, "");
}

TEST(advice, turbo_models_are_known_by_name_or_title) {
    const std::vector<Advice> turbos = {
        advice_of(holding({}), "x/Krea2_Turbo_int8.safetensors"),
        advice_of(holding({{"modelspec.title", "Krea 2 TURBO"}}), "model.safetensors")};
    for (const Advice & a : turbos) {
        EXPECT_EQ(a.steps, 8);
        EXPECT_EQ(a.cfg_scale, 1.0f);
        EXPECT_TRUE(a.by_name);
    }
    const Advice own = advice_of(holding({{"generation.steps", "4"}}), "turbo.safetensors");
    EXPECT_EQ(own.steps, 4);
    EXPECT_FALSE(own.cfg_scale || own.by_name);
}

TEST(advice, what_is_not_sensible_is_said_and_not_taken) {
    const std::pair<const char *, std::vector<const char *>> bad[] = {
        {"generation.width", {"0", "-64", "4097", "99999999999999999999", "64x", " 64", "6e1", "64.0"}},
        {"generation.height", {"", "7", "nan"}},
        {"generation.steps", {"0", "1001", "0x10", "\x1b[31m8"}},
        {"generation.cfg_scale", {"nan", "inf", "-1", "1e30", "1,5", "1e-400 "}},
        {"generation.flow_shift", {"1e9", "-10.5", "much"}},
        {"generation.sampling_method", {"", "tcd", "magic", "../euler"}},
        {"generation.scheduler", {"ays", "magic"}}};
    for (const auto & [key, values] : bad) {
        for (const char * value : values) {
            Log log;
            const Advice a = advice_of(holding({{key, value}}), "m.safetensors");
            EXPECT_FALSE(a.width || a.height || a.steps || a.cfg_scale || a.flow_shift) << key << value;
            EXPECT_EQ(a.sampler + a.scheduler, "") << value;
            ASSERT_EQ(log.lines.size(), 1u) << key << value;
            EXPECT_TRUE(log.lines[0].starts_with("m.safetensors: its metadata advise " + std::string(key)));
            EXPECT_EQ(log.lines[0].find('\x1b'), std::string::npos);
        }
    }
    Log log;
    advice_of(holding({{"generation.steps", std::string(1'000'000, '8')}}), "m");
    ASSERT_EQ(log.lines.size(), 1u);
    EXPECT_LT(log.lines[0].size(), 200u);
}

} // namespace
} // namespace sd
