// A model's blocks on two devices that count their memory: the picture of one device, and no more memory than
// was said.
#include "tests/support/memory_kit.h"

#include <atomic>
#include <filesystem>
#include <thread>

namespace sd::memory_test {
namespace {

class Spread : public testing::TestWithParam<Mode> {
  protected:
    void SetUp() override {
        setting_.backend = "cpu,diffusion=test&other";
        setting_.params = GetParam().params;
        setting_.stream = GetParam().stream;
        const auto share = [](double most) { return gibibytes(GetParam().share * most); };
        if (GetParam().share > 0)
            setting_.max_vram =
                "test=" + share(double(resident().most)) + ",other=" + share(double(resident().most) / 2);
    }
    static void expect_nothing_taken() {
        EXPECT_EQ(device().counters.bytes_in_use, 0u);
        EXPECT_EQ(other_device().counters.bytes_in_use, 0u);
    }
    Setting setting_;
};

TEST_P(Spread, pictures_are_those_of_one_device_in_the_memory_that_was_said) {
    Context context(setting_);
    for (const float strength : {-1.0f, 0.0f, 1.0f}) {
        Logged log;
        const int before = other_device().counters.nodes;
        device().counters.most_bytes = other_device().counters.most_bytes = 0;
        const std::vector<uint8_t> picture =
            strength < 0 ? context.picture() : context.picture({{kAdapter, strength}});
        ASSERT_FALSE(picture.empty()) << sd_last_error();
        EXPECT_TRUE(picture == (strength > 0 ? resident().with : resident().none)) << strength;
        EXPECT_GT(other_device().counters.nodes, before);
        EXPECT_GT(other_device().counters.most_bytes, 0u);
        if (!setting_.params.empty() || !setting_.max_vram.empty()) {
            EXPECT_EQ(device().counters.most_bytes, log.planned());
            EXPECT_EQ(other_device().counters.most_bytes, log.planned("OTHER"));
        }
        expect_nothing_taken();
    }
    EXPECT_EQ(device().counters.failures + other_device().counters.failures, 0);
}

TEST_P(Spread, kept_parts_make_the_same_pictures_again) {
    setting_.keep = true;
    Context context(setting_);
    for (int again = 0; again < 2; ++again) EXPECT_TRUE(context.picture() == resident().none);
    for (int again = 0; again < 2; ++again)
        EXPECT_TRUE(context.picture({{kAdapter, 1.0f}}) == resident().with);
}

TEST_P(Spread, a_cancel_gives_everything_back) {
    Context context(setting_);
    const int before = other_device().counters.graphs;
    std::atomic<bool> done = false;
    std::thread other([&] {
        while (other_device().counters.graphs == before && !done) std::this_thread::yield();
        // The second prompt's graph cannot end before the cancel is known.
        other_device().hold();
        sd_cancel_generation(context.ctx.get());
        other_device().release();
    });
    const std::vector<uint8_t> picture = context.picture();
    done = true;
    other.join();
    EXPECT_TRUE(picture.empty());
    EXPECT_STREQ(sd_last_error_code(), "E_CANCELLED");
    expect_nothing_taken();
}

INSTANTIATE_TEST_SUITE_P(modes, Spread, testing::ValuesIn(kModes),
                         [](const auto & info) { return std::string(info.param.name); });

// Its blocks are all it has: each device has four of eight, more than its limit.
TEST(SpreadOver, weights_pass_through_each_device) {
    const Resident text = make_resident({.backend = "cpu,te=test"});
    for (const Mode & mode : kModes) {
        if (mode.share == 0) continue;
        const std::string limit = gibibytes(0.6 * mode.share * double(text.most));
        for (const bool keep : {false, true}) {
            Setting s = setting_of(mode);
            s.backend = "cpu,te=test&other";
            s.max_vram = limit;
            s.keep = keep;
            Context context(s);
            for (const float strength : {-1.0f, 1.0f}) {
                Logged log;
                device().counters.most_bytes = other_device().counters.most_bytes = 0;
                const std::vector<uint8_t> picture =
                    strength < 0 ? context.picture() : context.picture({{kAdapter, strength}});
                ASSERT_FALSE(picture.empty()) << mode.name << sd_last_error();
                EXPECT_TRUE(picture == (strength < 0 ? text.none : text.with)) << mode.name;
                EXPECT_EQ(device().counters.most_bytes, log.planned()) << mode.name;
                EXPECT_EQ(other_device().counters.most_bytes, log.planned("OTHER")) << mode.name;
                EXPECT_TRUE(log.passes("TEST") && log.passes("OTHER"))
                    << mode.name << testing::PrintToString(log.lines);
            }
        }
        EXPECT_EQ(device().counters.bytes_in_use + other_device().counters.bytes_in_use, 0u);
    }
    EXPECT_EQ(device().counters.failures + other_device().counters.failures, 0);
}

struct Several {
    const char *part, *backend;
    std::vector<std::string> devices;
};
// What is no block of this diffusion model is half of it: the first device's share.
const std::vector<Several> kSeveral = {{"diffusion model", "cpu,diffusion=cpu&test", {"TEST"}},
                                       {"diffusion model", "cpu,diffusion=test&cpu", {"CPU"}},
                                       {"diffusion model", "cpu,diffusion=test&other&cpu", {"OTHER", "CPU"}},
                                       {"text encoder", "cpu,te=test&other", {"TEST", "OTHER"}},
                                       {"text encoder", "cpu,te=cpu&other", {"CPU", "OTHER"}},
                                       {"diffusion model", "test&other", {"OTHER"}},
                                       {"text encoder", "other&test,vae=cpu", {"OTHER", "TEST"}}};

TEST(SpreadOver, the_cpu_and_text_encoders_too) {
    for (const Several & several : kSeveral) {
        Logged log;
        Setting s;
        s.backend = several.backend;
        const std::vector<uint8_t> picture = Context(s).picture();
        ASSERT_FALSE(picture.empty()) << several.backend << sd_last_error();
        EXPECT_TRUE(picture == resident().none) << several.backend;
        EXPECT_TRUE(log.spread(several.part, several.devices))
            << several.backend << testing::PrintToString(log.lines);
    }
}

// What comes again is made with adapters that are there in a generation only.
TEST(SpreadOver, the_cpu_with_weights_elsewhere_and_adapters_again) {
    for (const char * params : {"cpu", "disk", ""}) {
        for (const lora_apply_mode_t mode : {LORA_APPLY_AT_RUNTIME, LORA_APPLY_IMMEDIATELY}) {
            Setting s;
            s.backend = "cpu,diffusion=test&cpu";
            s.params = params;
            s.keep = true;
            s.lora_mode = mode;
            Setting stay;
            stay.lora_mode = mode;
            const std::vector<uint8_t> expected = Context(stay).picture({{kAdapter, 1.0f}});
            Context context(s);
            for (int again = 0; again < 3; ++again) {
                const std::vector<uint8_t> picture = context.picture({{kAdapter, 1.0f}});
                ASSERT_FALSE(picture.empty()) << sd_last_error();
                EXPECT_TRUE(picture == expected) << params << mode << again;
            }
            EXPECT_TRUE(context.picture() == resident().none) << params << mode;
        }
    }
}

// Of what stays in system memory, because it computes or waits there, the file is not asked again.
TEST(SpreadOver, a_kept_part_is_read_once) {
    const std::filesystem::path copy = std::filesystem::path(testing::TempDir()) / "spread-dit.safetensors";
    for (const char * backend :
         {"cpu,diffusion=test&cpu", "cpu,diffusion=test&other", "cpu,diffusion=other&test"}) {
        std::filesystem::copy_file(model("tiny-dit-bf16.safetensors"), copy,
                                   std::filesystem::copy_options::overwrite_existing);
        Setting s;
        s.diffusion = copy.string();
        s.backend = backend;
        s.max_vram = "test=" + gibibytes(0.6 * double(resident().most));
        s.stream = true;
        s.mmap = false;
        s.keep = true;
        Context context(s);
        EXPECT_TRUE(context.picture() == resident().none) << backend << sd_last_error();
        std::filesystem::resize_file(copy, 0);
        EXPECT_TRUE(context.picture() == resident().none) << backend << sd_last_error();
    }
    std::filesystem::remove(copy);
}

TEST(SpreadOver, devices_with_less_memory_get_fewer_blocks_and_the_line_says_so) {
    Logged log;
    Setting s;
    s.backend = "cpu,diffusion=test&other";
    s.max_vram = "test=" + gibibytes(double(resident().most)) + ",other=0.00001";
    Context context(s);
    EXPECT_TRUE(context.picture() == resident().none) << sd_last_error();
    EXPECT_TRUE(std::any_of(log.lines.begin(), log.lines.end(), [](const std::string & line) {
        return line.find(" blocks on TEST, 0 blocks on OTHER") != std::string::npos;
    }));
}

TEST(SpreadOver, a_limit_that_is_too_small_names_its_device) {
    Setting s;
    s.backend = "cpu,diffusion=test&other";
    s.max_vram = "0.00001";
    Context context(s);
    EXPECT_TRUE(context.picture().empty());
    EXPECT_STREQ(sd_last_error_code(), "E_MEMORY");
    EXPECT_NE(std::string(sd_last_error()).find("of memory of "), std::string::npos) << sd_last_error();
    EXPECT_EQ(device().counters.bytes_in_use + other_device().counters.bytes_in_use, 0u);
}

} // namespace
} // namespace sd::memory_test
