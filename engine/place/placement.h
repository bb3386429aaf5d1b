// Where each part of a model computes, where its weights wait, and how much memory it may take there: what
// people ask for, as values. Pure: reads no device and takes no memory.
#pragma once

#include "place/devices.h"
#include "place/spec.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sd {

// As texts of the command line (docs/cli.md); empty: not given.
struct PlacementRequest {
    std::string backend, params_backend, split_mode, max_vram;
    bool stream_layers = false, auto_fit = false;
    uint64_t max_ram = 0; // bytes; 0: no limit
};

// Where weights are while nobody computes with them.
enum class WeightHome {
    device, // where they are used
    host,   // in system memory
    disk,   // in their file only
};

// Bytes that weights and working memory of a part may take together.
struct MemoryBudget {
    uint64_t bytes = 0;
    bool below_free = false; // that much less than is free, instead
    bool streams = false;    // keep what fits, and fetch the next layer while one computes
    bool of_process = false; // what the process has in memory already counts, too
};

struct DevicePlace {
    int device = 0; // of Devices
    std::optional<MemoryBudget> budget;
};

struct ModulePlace {
    // Never empty. Blocks are spread over them; the first has everything else.
    std::vector<DevicePlace> devices = {DevicePlace()};
    WeightHome home = WeightHome::device;

    int device() const { return devices.front().device; }
    bool limited() const; // on any device
    // Weights are always where they are used.
    bool stays() const { return home == WeightHome::device && !limited(); }
};

struct Placement {
    std::array<ModulePlace, kModules> modules;
    std::vector<std::string> notes; // options that change nothing here, and why

    const ModulePlace & operator[](Module m) const { return modules[size_t(m)]; }

    // Throws Error: unknown names, wrong values, and what cannot be done with these devices.
    static Placement of(const PlacementRequest & request, const Devices & devices);
};

} // namespace sd
