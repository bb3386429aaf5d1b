// Weights that stay, wait in memory, pass through it or come from disk, with and without adapters, on a
// device that counts its memory: one picture, and no more memory than was said.
#include "stable-diffusion.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sd {
namespace {

std::string model(const std::string & name) { return std::string(CONVROT_TINY_MODELS) + "/" + name; }

// One for the process, as the registry keeps it.
ggml::test::TestDevice & device() {
    static ggml::test::TestDevice * const it = [] {
        ggml::test::TestDeviceOptions options;
        options.reference = false;
        auto * made = new ggml::test::TestDevice(options);
        ggml_backend_device_register(made->device());
        return made;
    }();
    return *it;
}

struct Mode {
    const char * name;
    const char * params; // --params-backend
    double share;        // of the memory that everything takes; 0: no limit
    bool stream;
};
constexpr Mode kModes[] = {{"resident", "", 0, false},         {"offload", "cpu", 0, false},
                           {"disk", "disk", 0, false},         {"segments", "cpu", 0.5, false},
                           {"stream", "cpu", 0.6, true},       {"limit", "", 0.5, true},
                           {"disk_stream", "disk", 0.5, true}, {"disk_segments", "disk", 0.4, false}};

struct Setting {
    std::string backend = "cpu,diffusion=test", params, max_vram;
    bool stream = false, keep = false, mmap = true;
    lora_apply_mode_t lora_mode = LORA_APPLY_AT_RUNTIME;
    const char * diffusion = "tiny-dit-bf16.safetensors";
};

struct Logged {
    Logged() {
        sd_set_log_callback([](sd_log_level_t, const char * text,
                               void * data) { static_cast<Logged *>(data)->lines.push_back(text); },
                            this);
    }
    ~Logged() { sd_set_log_callback(nullptr, nullptr); }
    // Of the plans that were said of the device, the largest sum.
    size_t planned() const {
        size_t most = 0;
        for (const std::string & line : lines) {
            const size_t at = line.rfind(" in all (");
            if (at != std::string::npos && line.find(" on TEST: ") != std::string::npos)
                most = std::max(most, size_t(std::stoull(line.substr(at + 9))));
        }
        return most;
    }
    std::vector<std::string> lines;
};

class Context {
  public:
    explicit Context(const Setting & s) {
        device();
        const std::string dit = model(s.diffusion), llm = model("tiny-llm-f16.gguf"),
                          vae = model("wan21-vae-dim32-bf16.safetensors");
        sd_ctx_params_t p;
        sd_ctx_params_init(&p);
        p.files = {nullptr, dit.c_str(), llm.c_str(), vae.c_str()};
        p.n_threads = 1; // threads that wait for each other are slow beside other tests
        p.lora_apply_mode = s.lora_mode;
        p.keep_loaded = s.keep;
        p.enable_mmap = s.mmap;
        p.backend = s.backend.c_str();
        p.params_backend = s.params.c_str();
        p.max_vram = s.max_vram.c_str();
        p.stream_layers = s.stream;
        ctx.reset(new_sd_ctx(&p));
        EXPECT_NE(ctx, nullptr) << sd_last_error();
    }

    // Empty when it failed.
    std::vector<uint8_t> picture(std::vector<std::pair<const char *, float>> uses = {},
                                 const sd_gen_callbacks_t * callbacks = nullptr) {
        std::vector<std::string> paths;
        for (const auto & [name, strength] : uses) paths.push_back(model(name));
        std::vector<sd_lora_t> loras;
        for (size_t i = 0; i < uses.size(); ++i) loras.push_back({false, uses[i].second, paths[i].c_str()});
        sd_img_gen_params_t p;
        sd_img_gen_params_init(&p);
        p.prompt = "a dog";
        p.negative_prompt = "a cat in a hat";
        p.width = p.height = 32;
        p.seed = 7;
        p.sample_params.sample_steps = 1;
        p.sample_params.txt_cfg = 2.0f;
        p.loras = loras.data();
        p.lora_count = uint32_t(loras.size());
        sd_image_t * images = nullptr;
        int count = 0;
        if (!generate_image(ctx.get(), &p, callbacks, &images, &count)) return {};
        const size_t bytes = size_t(images->width) * images->height * images->channel;
        std::vector<uint8_t> out(images->data, images->data + bytes);
        free_sd_images(images, count);
        return out;
    }

    std::unique_ptr<sd_ctx_t, decltype(&free_sd_ctx)> ctx{nullptr, free_sd_ctx};
};

constexpr const char * kAdapter = "tiny-adapter-lora.safetensors";

// Of weights that stay: pictures, and the most memory one takes.
struct Resident {
    std::vector<uint8_t> none, with;
    size_t most;
};
Resident make_resident(const Setting & s) {
    Context context(s);
    device().counters.most_bytes = 0;
    Resident r = {context.picture(), {}, device().counters.most_bytes};
    EXPECT_FALSE(r.none.empty()) << sd_last_error();
    r.with = context.picture({{kAdapter, 1.0f}});
    EXPECT_NE(r.none, r.with);
    return r;
}
const Resident & resident() {
    static const Resident it = make_resident({});
    return it;
}

std::string gibibytes(double bytes) { return std::to_string(bytes / double(1 << 30)); }

Setting setting_of(const Mode & mode, size_t most = resident().most) {
    Setting s;
    s.params = mode.params;
    s.stream = mode.stream;
    if (mode.share > 0) s.max_vram = gibibytes(mode.share * double(most));
    return s;
}

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
    stay.diffusion = "tiny-dit-int8.safetensors";
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
} // namespace sd
