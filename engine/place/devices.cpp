#include "place/devices.h"

#include "base/error.h"
#include "ggml-backend.h"

#include <algorithm>

namespace sd {
namespace {

DeviceInfo::Kind kind_of(ggml_backend_dev_t device) {
    switch (ggml_backend_dev_type(device)) {
    case GGML_BACKEND_DEVICE_TYPE_CPU: return DeviceInfo::Kind::cpu;
    case GGML_BACKEND_DEVICE_TYPE_GPU: return DeviceInfo::Kind::gpu;
    case GGML_BACKEND_DEVICE_TYPE_IGPU: return DeviceInfo::Kind::integrated;
    default: return DeviceInfo::Kind::helper;
    }
}

} // namespace

std::string folded(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return out;
}

Devices Devices::of_process() {
    std::vector<DeviceInfo> list;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        ggml_backend_reg_t family = ggml_backend_dev_backend_reg(device);
        DeviceInfo info = {ggml_backend_dev_name(device), {}, kind_of(device), false};
        if (family != nullptr) {
            info.family = ggml_backend_reg_name(family);
            info.splits_rows =
                ggml_backend_reg_get_proc_address(family, "ggml_backend_split_buffer_type") != nullptr;
        }
        list.push_back(std::move(info));
    }
    return Devices(std::move(list));
}

int Devices::first_of(DeviceInfo::Kind kind) const {
    for (int i = 0; i < count(); ++i) {
        if (list_[size_t(i)].kind == kind) return i;
    }
    return -1;
}

int Devices::cpu() const {
    const int device = first_of(DeviceInfo::Kind::cpu);
    if (device < 0) throw Error("this ggml has no CPU device");
    return device;
}

int Devices::best() const {
    for (const DeviceInfo::Kind kind : {DeviceInfo::Kind::gpu, DeviceInfo::Kind::integrated}) {
        if (const int device = first_of(kind); device >= 0) return device;
    }
    return cpu();
}

int Devices::find(std::string_view given) const {
    const std::string name = folded(given);
    if (name.empty() || name == "auto" || name == "default") return best();
    if (name == "gpu" && !is_cpu(best())) return best();
    const auto matching = [&](auto && matches) {
        const auto found = std::find_if(list_.begin(), list_.end(), matches);
        return found != list_.end() ? int(found - list_.begin()) : -1;
    };
    int device = matching([&](const DeviceInfo & d) { return folded(d.family) == name; });
    if (device < 0) device = matching([&](const DeviceInfo & d) { return folded(d.name) == name; });
    if (device < 0 && name != "gpu")
        device = matching([&](const DeviceInfo & d) { return folded(d.name).starts_with(name); });
    if (device >= 0) return device;
    std::string names = "auto";
    for (const DeviceInfo & d : list_) names += ", " + d.name;
    throw Error(
        {"E_ARGUMENT", {}, {}, "there is no device " + in_quotes(given, 40), "devices here: " + names});
}

} // namespace sd
