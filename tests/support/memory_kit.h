// What tests of memory modes share: devices that count their memory, contexts, and what they said.
#pragma once

#include "stable-diffusion.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sd::memory_test {

inline std::string model(const std::string & name) { return std::string(CONVROT_TINY_MODELS) + "/" + name; }

// For the process, as the registry keeps it.
inline ggml::test::TestDevice & add_device(const char * name) {
    ggml::test::TestDeviceOptions options;
    options.name = name;
    options.reference = false;
    // As much as the CPU has, so that blocks are spread over both.
    size_t total = 0;
    ggml_backend_dev_memory(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), &options.memory, &total);
    auto * made = new ggml::test::TestDevice(options);
    ggml_backend_device_register(made->device());
    return *made;
}
inline ggml::test::TestDevice & device() {
    static ggml::test::TestDevice & it = add_device("TEST");
    return it;
}
inline ggml::test::TestDevice & other_device() {
    static ggml::test::TestDevice & it = add_device("OTHER");
    return it;
}

struct Mode {
    const char * name;
    const char * params; // --params-backend
    double share;        // of the memory that everything takes; 0: no limit
    bool stream;
};
inline constexpr Mode kModes[] = {{"resident", "", 0, false},         {"offload", "cpu", 0, false},
                                  {"disk", "disk", 0, false},         {"segments", "cpu", 0.5, false},
                                  {"stream", "cpu", 0.6, true},       {"limit", "", 0.5, true},
                                  {"disk_stream", "disk", 0.5, true}, {"disk_segments", "disk", 0.4, false}};

struct Setting {
    std::string backend = "cpu,diffusion=test", params, max_vram;
    bool stream = false, keep = false, mmap = true;
    lora_apply_mode_t lora_mode = LORA_APPLY_AT_RUNTIME;
    std::string diffusion = model("tiny-dit-bf16.safetensors");
};

struct Logged {
    Logged() {
        sd_set_log_callback([](sd_log_level_t, const char * text,
                               void * data) { static_cast<Logged *>(data)->lines.push_back(text); },
                            this);
    }
    ~Logged() { sd_set_log_callback(nullptr, nullptr); }
    // Whether the line about a part says that each of these devices has blocks.
    bool spread(const std::string & part, const std::vector<std::string> & devices) const {
        const auto names = [&](const std::string & line) {
            return std::all_of(devices.begin(), devices.end(), [&](const std::string & device) {
                const size_t at = line.find(" blocks on " + device);
                return at != std::string::npos && line.substr(at - 2, 2) != " 0";
            });
        };
        return std::any_of(lines.begin(), lines.end(), [&](const std::string & line) {
            return line.find("the " + part + ": ") != std::string::npos && names(line);
        });
    }
    // Whether a device's line says that weights come and go.
    bool passes(const std::string & device) const {
        return std::any_of(lines.begin(), lines.end(), [&](const std::string & line) {
            return line.find(" on " + device + ": ") != std::string::npos &&
                   line.find(" pass through ") != std::string::npos;
        });
    }
    // Of the plans that were said of a device, the largest sum.
    size_t planned(const std::string & device = "TEST") const {
        size_t most = 0;
        for (const std::string & line : lines) {
            const size_t at = line.rfind(" in all (");
            if (at != std::string::npos && line.find(" on " + device + ": ") != std::string::npos)
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
        other_device();
        const std::string dit = s.diffusion, llm = model("tiny-llm-f16.gguf"),
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

inline constexpr const char * kAdapter = "tiny-adapter-lora.safetensors";

// Of weights that stay: pictures, and the most memory one takes.
struct Resident {
    std::vector<uint8_t> none, with;
    size_t most;
};
inline Resident make_resident(const Setting & s) {
    Context context(s);
    device().counters.most_bytes = 0;
    Resident r = {context.picture(), {}, device().counters.most_bytes};
    EXPECT_FALSE(r.none.empty()) << sd_last_error();
    r.with = context.picture({{kAdapter, 1.0f}});
    EXPECT_NE(r.none, r.with);
    return r;
}
inline const Resident & resident() {
    static const Resident it = make_resident({});
    return it;
}

inline std::string gibibytes(double bytes) { return std::to_string(bytes / double(1 << 30)); }

inline Setting setting_of(const Mode & mode, size_t most = resident().most) {
    Setting s;
    s.params = mode.params;
    s.stream = mode.stream;
    if (mode.share > 0) s.max_vram = gibibytes(mode.share * double(most));
    return s;
}

} // namespace sd::memory_test
