// The devices of this process as values, and the names people call them by. Nothing here starts a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct DeviceInfo {
    enum class Kind { cpu, gpu, integrated, helper };
    std::string name, family; // "Vulkan0" of the family "Vulkan"
    Kind kind = Kind::cpu;
    bool splits_rows = false; // its family has buffers whose rows lie on several devices
};

class Devices {
  public:
    explicit Devices(std::vector<DeviceInfo> list) : list_(std::move(list)) {}

    // Of this process, in the order of --list-devices.
    static Devices of_process();

    const DeviceInfo & operator[](int i) const { return list_[size_t(i)]; }
    int count() const { return int(list_.size()); }

    int cpu() const;
    // The first GPU, else the first integrated GPU, else the CPU.
    int best() const;
    bool is_cpu(int device) const { return list_[size_t(device)].kind == DeviceInfo::Kind::cpu; }

    // "auto", "default" and "" are the best one; "gpu" the first GPU or integrated GPU; otherwise a family's
    // name (its first device), a device's name, or the beginning of one. Letter case does not matter. An
    // Error lists what there is.
    int find(std::string_view name) const;

  private:
    int first_of(DeviceInfo::Kind kind) const; // -1: none
    std::vector<DeviceInfo> list_;
};

// Lower case, for comparing names.
std::string folded(std::string_view text);

} // namespace sd
