#include "place/placement.h"

#include "base/error.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

using Kind = DeviceInfo::Kind;

const Devices kTwoGpus({{"CPU", "CPU", Kind::cpu, false},
                        {"Vulkan0", "Vulkan", Kind::gpu, false},
                        {"Vulkan1", "Vulkan", Kind::gpu, false},
                        {"Iris", "iGPU", Kind::integrated, false}});
const Devices kCpu({{"CPU", "CPU", Kind::cpu, false}});

std::string refusal(const PlacementRequest & request, const Devices & devices = kTwoGpus) {
    try {
        Placement::of(request, devices);
    } catch (const Error & e) {
        return e.parts().code + " " + e.what();
    }
    return "accepted";
}

std::vector<int> devices_for(const std::string & backend, const Devices & devices = kTwoGpus) {
    const Placement p = Placement::of({.backend = backend}, devices);
    return {p[Module::diffusion].device(), p[Module::text].device(), p[Module::vae].device()};
}

TEST(Placement, nothing_given_is_the_best_device_and_weights_on_it) {
    EXPECT_EQ(devices_for(""), (std::vector{1, 1, 1}));
    EXPECT_EQ(devices_for("", kCpu), (std::vector{0, 0, 0}));
    const Placement p = Placement::of({}, kTwoGpus);
    EXPECT_EQ(p[Module::vae].home, WeightHome::device);
    EXPECT_FALSE(p[Module::vae].devices[0].budget);
}

TEST(Placement, devices_are_found_by_family_name_and_beginning_in_any_case) {
    for (const auto & [name, device] : std::vector<std::pair<const char *, int>>{{"auto", 1},
                                                                                 {"DEFAULT", 1},
                                                                                 {"gpu", 1},
                                                                                 {"vulkan", 1},
                                                                                 {"VULKAN1", 2},
                                                                                 {"igpu", 3},
                                                                                 {"ir", 3},
                                                                                 {"c", 0}}) {
        EXPECT_EQ(devices_for(name)[0], device) << name;
    }
    EXPECT_EQ(refusal({.backend = "cuda"}),
              "E_ARGUMENT there is no device \"cuda\" (devices here: auto, CPU, Vulkan0, Vulkan1, Iris)");
    EXPECT_EQ(refusal({.backend = "gpu"}, kCpu),
              "E_ARGUMENT there is no device \"gpu\" (devices here: auto, CPU)");
}

TEST(Placement, modules_have_other_names_and_later_items_win) {
    EXPECT_EQ(devices_for("te=cpu"), (std::vector{1, 0, 1}));
    EXPECT_EQ(devices_for(" First-Stage = cpu , T5_XXL=vulkan1, cpu, dit=iris"), (std::vector{3, 2, 0}));
    EXPECT_EQ(devices_for("*=cpu,vae=gpu,vae=vulkan1"), (std::vector{0, 0, 2}));
    EXPECT_EQ(devices_for("all=cpu"), devices_for("default=cpu"));
    EXPECT_EQ(Placement::of({.backend = "yolo=cpu"}, kTwoGpus).notes.size(), 1u);
    EXPECT_EQ(refusal({.backend = "vea=cpu"}),
              "E_ARGUMENT --backend: there is no module \"vea\" (modules are diffusion, te, vae, or all of "
              "them: *)");
}

TEST(Placement, items_without_name_or_value_are_refused) {
    for (const char * spec : {"te=", "=cpu", "te=cpu,", ",", "te=,vae=cpu"}) {
        EXPECT_NE(refusal({.backend = spec}).find("lacks a name or a value"), std::string::npos) << spec;
    }
}

TEST(Placement, weights_wait_on_their_device_in_memory_or_on_disk) {
    const Placement p = Placement::of({.params_backend = "cpu,vae=disk,te=vulkan0"}, kTwoGpus);
    EXPECT_EQ(p[Module::diffusion].home, WeightHome::host);
    EXPECT_EQ(p[Module::text].home, WeightHome::device);
    EXPECT_EQ(p[Module::vae].home, WeightHome::disk);
    EXPECT_EQ(Placement::of({.params_backend = "cpu"}, kCpu)[Module::vae].home, WeightHome::device);
    EXPECT_NE(refusal({.backend = "disk"}).find("computes nothing"), std::string::npos);
    EXPECT_NE(refusal({.params_backend = "vulkan1"}).find("cannot be kept on Vulkan1"), std::string::npos);
}

TEST(Placement, budgets_are_gibibytes_for_each_device) {
    const Placement p = Placement::of(
        {.backend = "te=vulkan1,vae=cpu", .max_vram = "1.5,vulkan1=-2", .stream_layers = true}, kTwoGpus);
    EXPECT_EQ(p[Module::diffusion].devices[0].budget->bytes, uint64_t(3) << 29);
    EXPECT_FALSE(p[Module::diffusion].devices[0].budget->below_free);
    EXPECT_TRUE(p[Module::diffusion].devices[0].budget->streams);
    EXPECT_EQ(p[Module::text].devices[0].budget->bytes, uint64_t(2) << 30);
    EXPECT_TRUE(p[Module::text].devices[0].budget->below_free);
    EXPECT_FALSE(p[Module::vae].devices[0].budget);
    EXPECT_FALSE(Placement::of({.max_vram = "0"}, kTwoGpus)[Module::vae].devices[0].budget);
    for (const char * spec : {"x", "1GiB", "nan", "1e99", "vulkan9=1"})
        EXPECT_NE(refusal({.max_vram = spec}), "accepted") << spec;
    EXPECT_NE(refusal({.max_vram = "cpu=4"}).find("--max-ram"), std::string::npos);
}

TEST(Placement, ram_is_limited_for_what_computes_on_the_cpu) {
    const Placement p = Placement::of({.backend = "te=cpu", .max_ram = 6}, kTwoGpus);
    EXPECT_EQ(p[Module::text].devices[0].budget->bytes, 6u);
    EXPECT_TRUE(p[Module::text].devices[0].budget->streams);
    EXPECT_FALSE(p[Module::diffusion].devices[0].budget);
}

TEST(Placement, what_changes_nothing_is_said) {
    EXPECT_EQ(Placement::of({.max_vram = "4", .stream_layers = true}, kCpu).notes.size(), 2u);
    EXPECT_EQ(Placement::of({.max_vram = "4", .stream_layers = true}, kTwoGpus).notes.size(), 0u);
}

TEST(Placement, several_devices_are_named_one_by_one) {
    const auto names = [](const std::string & backend, Module m) {
        const Placement p = Placement::of({.backend = backend, .max_vram = "vulkan1=3"}, kTwoGpus);
        std::vector<std::pair<int, uint64_t>> out;
        for (const DevicePlace & d : p[m].devices)
            out.emplace_back(d.device, d.budget ? d.budget->bytes >> 30 : 0);
        return out;
    };
    using Places = std::vector<std::pair<int, uint64_t>>;
    EXPECT_EQ(names("dit=vulkan0&vulkan1", Module::diffusion), (Places{{1, 0}, {2, 3}}));
    EXPECT_EQ(names("dit=vulkan0&vulkan1", Module::text), (Places{{1, 0}}));
    EXPECT_EQ(names(" VULKAN1 & ir & cpu ", Module::text), (Places{{2, 3}, {3, 0}, {0, 0}}));
    // Its pictures are not cut into blocks: the first of them for a default.
    EXPECT_EQ(names("vulkan1&vulkan0", Module::vae), (Places{{2, 3}}));
    EXPECT_EQ(names("vulkan0&vulkan1,te=vulkan1", Module::text), (Places{{2, 3}}));
    EXPECT_EQ(names("vae=vulkan0&vulkan1,vae=vulkan1", Module::vae), (Places{{2, 3}})); // the last counts
    const auto refused = [](PlacementRequest request, const char * cause) {
        EXPECT_NE(refusal(request).find(cause), std::string::npos) << refusal(request);
    };
    refused({.backend = "vae=vulkan0&vulkan1"}, "vae cannot be on several devices");
    refused({.backend = "vulkan0&vulkan0"}, "names Vulkan0 twice");
    refused({.backend = "vulkan0&vulkan"}, "names Vulkan0 twice");
    for (const char * spec : {"auto&vulkan1", "vulkan0&", "&vulkan0", "vulkan0&&vulkan1", "vulkan0&default",
                              "vulkan0&disk", "te=&"})
        refused({.backend = spec}, "between & stand names of devices");
    refused({.backend = "te=vulkan0&"}, "has an empty name in it");
    refused({.backend = "vulkan0&cpu", .max_ram = 5}, "the CPU is one of several devices");
    refused({.backend = "vulkan0&cuda"}, "there is no device");
    refused({.params_backend = "cpu&vulkan0"}, "is several places");
    refused({.backend = "vulkan0&vulkan1", .params_backend = "te=vulkan0"},
            "computes on Vulkan0 and Vulkan1 cannot be kept on Vulkan0 (possible are cpu and disk)");
    EXPECT_EQ(refusal({.backend = "vulkan0&vulkan1", .params_backend = "te=cpu,dit=disk"}), "accepted");
}

TEST(Placement, rows_are_split_nowhere_and_layers_everywhere) {
    EXPECT_EQ(refusal({.split_mode = "layer,te=LAYER"}), "accepted");
    EXPECT_NE(refusal({.split_mode = "row"}).find("on CPU, Vulkan0, Vulkan1, Iris"), std::string::npos);
    EXPECT_NE(refusal({.split_mode = "te=column"}).find("neither layer nor row"), std::string::npos);
    EXPECT_NE(refusal({.split_mode = "x=layer"}).find("no module"), std::string::npos);
}

TEST(Placement, auto_fit_takes_the_best_device_and_what_is_free_of_it) {
    const Placement p = Placement::of({.backend = "cpu", .auto_fit = true}, kTwoGpus);
    EXPECT_EQ(p[Module::diffusion].device(), 1);
    EXPECT_EQ(p[Module::diffusion].home, WeightHome::host);
    EXPECT_TRUE(p[Module::diffusion].devices[0].budget->below_free);
    EXPECT_TRUE(p[Module::diffusion].devices[0].budget->streams);
    EXPECT_EQ(p.notes.size(), 1u);
}

} // namespace
} // namespace sd
