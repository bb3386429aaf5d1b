// Weights that stay, wait in memory, pass through it or come from disk, with and without adapters, on a
// device that counts its memory: one picture, and no more memory than was said.
#include "tests/support/memory_kit.h"

#include <thread>

namespace sd::memory_test {
namespace {

// What is taken is what was said, within the limit, and not timid where it streams.
void expect_memory(const Setting & s, size_t most, size_t planned) {
    EXPECT_EQ(most, planned);
    if (s.max_vram.empty()) return;
    const double limit = std::stod(s.max_vram) * double(1 << 30);
    EXPECT_LE(double(most), limit);
    EXPECT_GE(double(most), s.stream ? 0.7 * limit : 0.0);
}

class MemoryModes : public testing::TestWithParam<Mode> {};

TEST_P(MemoryModes, pictures_are_those_of_weights_that_stay_in_the_memory_that_was_said) {
    const Setting s = setting_of(GetParam());
    const bool planned = !s.params.empty() || !s.max_vram.empty();
    Context context(s);
    for (const float strength : {-1.0f, 0.0f, 1.0f}) {
        Logged log;
        device().counters.most_bytes = 0;
        const std::vector<uint8_t> picture =
            strength < 0 ? context.picture() : context.picture({{kAdapter, strength}});
        ASSERT_FALSE(picture.empty()) << sd_last_error();
        EXPECT_TRUE(picture == (strength > 0 ? resident().with : resident().none)) << strength;
        if (planned) expect_memory(s, device().counters.most_bytes, log.planned());
        EXPECT_EQ(device().counters.bytes_in_use, 0u);
    }
    EXPECT_EQ(device().counters.failures, 0);
}

class MergedAdapters : public testing::TestWithParam<Mode> {};

TEST_P(MergedAdapters, are_those_of_weights_that_stay) {
    Setting stay, s = setting_of(GetParam());
    stay.lora_mode = s.lora_mode = LORA_APPLY_IMMEDIATELY;
    const std::vector<uint8_t> picture = Context(s).picture({{kAdapter, 1.0f}});
    ASSERT_FALSE(picture.empty()) << sd_last_error();
    EXPECT_TRUE(picture == Context(stay).picture({{kAdapter, 1.0f}}));
}

TEST_P(MemoryModes, kept_parts_make_the_same_pictures_again) {
    Setting s = setting_of(GetParam());
    s.keep = true;
    s.mmap = false;
    Context context(s);
    for (int again = 0; again < 2; ++again) EXPECT_TRUE(context.picture() == resident().none);
    for (int again = 0; again < 2; ++again)
        EXPECT_TRUE(context.picture({{kAdapter, 1.0f}}) == resident().with);
    // Only weights that live there stay there.
    EXPECT_EQ(device().counters.bytes_in_use > 0, std::string(GetParam().name) == "resident");
}

TEST_P(MemoryModes, a_cancel_in_any_phase_gives_everything_back) {
    const Setting s = setting_of(GetParam());
    Context context(s);
    struct Stop {
        std::string phase;
        uint64_t at;
    };
    for (Stop stop : {Stop{"encoding the prompt", 0},
                      {"encoding the prompt", 1},
                      {"sampling", 0},
                      {"sampling", 1},
                      {"decoding", 0}}) {
        sd_gen_callbacks_t callbacks = {};
        callbacks.data = &stop;
        callbacks.progress = [](const char * what, uint64_t done, uint64_t, void * data) {
            const Stop & s = *static_cast<Stop *>(data);
            return what != s.phase || done != s.at;
        };
        EXPECT_TRUE(context.picture({{kAdapter, 1.0f}}, &callbacks).empty()) << stop.phase << stop.at;
        EXPECT_STREQ(sd_last_error_code(), "E_CANCELLED");
        EXPECT_EQ(device().counters.bytes_in_use, 0u) << stop.phase << stop.at;
    }
    EXPECT_TRUE(context.picture() == resident().none);
}

TEST_P(MemoryModes, a_cancel_while_the_device_works_gives_everything_back) {
    const Setting s = setting_of(GetParam());
    Context context(s);
    for (const int graphs : {1, 7}) {
        const int before = device().counters.graphs;
        std::thread other([&] {
            while (device().counters.graphs < before + graphs) std::this_thread::yield();
            device().hold();
            sd_cancel_generation(context.ctx.get());
            device().release();
        });
        EXPECT_TRUE(context.picture().empty());
        other.join();
        EXPECT_STREQ(sd_last_error_code(), "E_CANCELLED");
        EXPECT_EQ(device().counters.bytes_in_use, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(modes, MergedAdapters, testing::Values(kModes[1], kModes[2], kModes[3], kModes[6]),
                         [](const auto & info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(modes, MemoryModes, testing::ValuesIn(kModes),
                         [](const auto & info) { return std::string(info.param.name); });

TEST(MemoryLimits, quantized_models_stream_too) {
    Setting stay;
    stay.diffusion = model("tiny-dit-int8.safetensors");
    const Resident expected = make_resident(stay);
    Setting s = setting_of({"stream", "cpu", 0.7, true}, expected.most);
    s.diffusion = stay.diffusion;
    Context context(s);
    const std::vector<uint8_t> none = context.picture({{kAdapter, 0.0f}});
    ASSERT_FALSE(none.empty()) << sd_last_error();
    EXPECT_TRUE(none == expected.none);
    EXPECT_TRUE(context.picture({{kAdapter, 1.0f}}) == expected.with);
}

TEST(MemoryLimits, text_encoders_stream_too) {
    Setting stay, s;
    stay.backend = "cpu,te=test";
    const Resident expected = make_resident(stay);
    s = setting_of({"stream", "disk", 0.5, true}, expected.most);
    s.backend = stay.backend;
    const std::vector<uint8_t> picture = Context(s).picture();
    ASSERT_FALSE(picture.empty()) << sd_last_error();
    EXPECT_TRUE(picture == expected.none);
}

TEST(MemoryLimits, a_limit_that_is_too_small_says_how_much_is_needed) {
    Setting s;
    s.params = "cpu";
    s.max_vram = "0.00001";
    Context context(s);
    EXPECT_TRUE(context.picture().empty());
    EXPECT_STREQ(sd_last_error_code(), "E_MEMORY");
    EXPECT_NE(std::string(sd_last_error()).find("needs at least"), std::string::npos) << sd_last_error();
    EXPECT_EQ(device().counters.bytes_in_use, 0u);
}

} // namespace
} // namespace sd::memory_test
