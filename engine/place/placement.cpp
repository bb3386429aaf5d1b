#include "place/placement.h"

#include "base/error.h"
#include "base/trimmed.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace sd {
namespace {

constexpr const char *kBackend = "--backend", *kParams = "--params-backend", *kSplit = "--split-mode",
                     *kMaxVram = "--max-vram";

// What --auto-fit leaves of a device's memory to others.
constexpr uint64_t kHeadroom = uint64_t(512) << 20;

[[noreturn]] void refuse(const char * option, const std::string & cause, const std::string & advice = {}) {
    throw Error({"E_ARGUMENT", {}, {}, std::string(option) + ": " + cause, advice});
}

class Reader {
  public:
    Reader(const PlacementRequest & request, const Devices & devices, Placement & out)
        : request_(request), devices_(devices), out_(out) {}

    void backends() {
        for (ModulePlace & m : out_.modules) m.devices = {{devices_.best(), {}}};
        if (request_.auto_fit) {
            if (!request_.backend.empty() || !request_.params_backend.empty())
                out_.notes.push_back("--backend and --params-backend give way to --auto-fit");
            return;
        }
        assign(request_.backend, kBackend, [&](ModulePlace & m, const std::string & value) {
            if (folded(value) == "disk") refuse(kBackend, "disk keeps weights and computes nothing");
            m.devices = devices_of(value);
        });
        // It has no blocks. Of a default for all parts it takes the first device.
        std::string of_vae;
        for (const SpecItem & item : parse_spec(request_.backend, kBackend)) {
            if (!is_default_key(item.key) && find_module(item.key, kBackend) == int(Module::vae))
                of_vae = item.value;
        }
        if (of_vae.find('&') != std::string::npos)
            refuse(kBackend, "vae cannot be on several devices", "diffusion and te can");
        out_.modules[size_t(Module::vae)].devices.resize(1);
    }

    void homes() {
        if (request_.auto_fit) {
            for (ModulePlace & m : out_.modules) m.home = home_on(m, devices_.cpu());
            return;
        }
        assign(request_.params_backend, kParams, [&](ModulePlace & m, const std::string & value) {
            if (value.find('&') != std::string::npos)
                refuse(kParams, in_quotes(value, 40) + " is several places", "weights are kept in one");
            m.home = folded(value) == "disk" ? WeightHome::disk : home_on(m, devices_.find(value));
        });
    }

    void split_modes() const {
        for (const SpecItem & item : parse_spec(request_.split_mode, kSplit)) {
            if (!is_default_key(item.key)) find_module(item.key, kSplit);
            const std::string mode = folded(item.value);
            if (mode == "layer") continue;
            if (mode != "row") refuse(kSplit, in_quotes(item.value, 40) + " is neither layer nor row");
            std::string without;
            for (int i = 0; i < devices_.count(); ++i) {
                if (!devices_[i].splits_rows) without += (without.empty() ? "" : ", ") + devices_[i].name;
            }
            refuse(kSplit,
                   without.empty() ? "row is not built"
                                   : "row needs memory whose rows lie on several devices, which there is not "
                                     "on " +
                                         without,
                   "layer is possible");
        }
    }

    void budgets() {
        std::map<int, MemoryBudget> by_device;
        std::optional<MemoryBudget> others;
        for (const SpecItem & item : parse_spec(request_.max_vram, kMaxVram)) {
            const MemoryBudget budget = gibibytes(item.value);
            if (is_default_key(item.key)) {
                others = budget;
                continue;
            }
            const int device = devices_.find(item.key);
            if (devices_.is_cpu(device))
                refuse(kMaxVram, "is for devices with memory of their own",
                       "--max-ram SIZE limits the CPU's");
            by_device[device] = budget;
        }
        bool limited = false;
        for (ModulePlace & m : out_.modules) {
            for (DevicePlace & d : m.devices) {
                if (m.devices.size() > 1 && devices_.is_cpu(d.device) && request_.max_ram > 0)
                    refuse("--max-ram", "cannot be kept where the CPU is one of several devices of a part",
                           "leave one of both out");
                const auto own = by_device.find(d.device);
                d.budget = budget_on(d.device, own != by_device.end() ? own->second : others);
                limited = limited || d.budget;
            }
        }
        note_unused(limited);
    }

  private:
    std::optional<MemoryBudget> budget_on(int device, std::optional<MemoryBudget> asked) const {
        if (devices_.is_cpu(device)) {
            asked.reset();
            if (request_.max_ram > 0) asked = MemoryBudget{request_.max_ram, false, true, true};
        }
        if (asked && asked->bytes == 0 && !asked->below_free) asked.reset();
        if (!asked && request_.auto_fit) asked = MemoryBudget{kHeadroom, true, true, false};
        if (asked) asked->streams = asked->streams || request_.stream_layers;
        return asked;
    }

    // `dev1&dev2`: each by its name.
    std::vector<DevicePlace> devices_of(const std::string & value) const {
        if (value.find('&') == std::string::npos) return {{devices_.find(value), {}}};
        std::vector<DevicePlace> found;
        for (size_t at = 0; at <= value.size();) {
            const size_t end = std::min(value.find('&', at), value.size());
            const std::string name(trimmed(std::string_view(value).substr(at, end - at)));
            at = end + 1;
            const std::string plain = folded(name);
            if (plain.empty() || plain == "auto" || plain == "default" || plain == "disk")
                refuse(kBackend,
                       in_quotes(value, 60) + " has " +
                           (name.empty() ? "an empty name" : in_quotes(name, 40)) + " in it",
                       "between & stand names of devices");
            const int device = devices_.find(name);
            for (const DevicePlace & other : found) {
                if (other.device == device)
                    refuse(kBackend, in_quotes(value, 60) + " names " + devices_[device].name + " twice");
            }
            found.push_back({device, {}});
        }
        return found;
    }

    template <class Take>
    void assign(const std::string & spec, const char * option, Take && take) {
        // Defaults first, so that their place among the items does not matter.
        const std::vector<SpecItem> items = parse_spec(spec, option);
        for (const SpecItem & item : items) {
            if (!is_default_key(item.key)) continue;
            for (ModulePlace & m : out_.modules) take(m, item.value);
        }
        for (const SpecItem & item : items) {
            if (is_default_key(item.key)) continue;
            const int module = find_module(item.key, option);
            ModulePlace unused; // the value is checked all the same
            unused.devices.front().device = devices_.best();
            take(module == kNoModule ? unused : out_.modules[size_t(module)], item.value);
            if (module == kNoModule)
                out_.notes.push_back(std::string(option) + ": no model here has a part " + item.key);
        }
    }

    WeightHome home_on(const ModulePlace & m, int device) const {
        if (m.devices.size() == 1 && device == m.device()) return WeightHome::device;
        if (devices_.is_cpu(device)) return WeightHome::host;
        std::string names;
        for (const DevicePlace & d : m.devices)
            names += (names.empty() ? "" : " and ") + devices_[d.device].name;
        refuse(kParams,
               "weights of a part that computes on " + names + " cannot be kept on " + devices_[device].name,
               m.devices.size() == 1 ? "possible are its own device, cpu and disk"
                                     : "possible are cpu and disk");
    }

    static MemoryBudget gibibytes(const std::string & value) {
        double number = 0.0;
        const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
        constexpr double kMost = 1 << 20;
        // Written so that NaN is refused.
        if (problem != std::errc() || end != value.data() + value.size() || !(std::fabs(number) <= kMost))
            refuse(kMaxVram, in_quotes(value, 40) + " is no number of GiB");
        return {uint64_t(std::fabs(number) * double(1 << 30)), number < 0.0, false, false};
    }

    void note_unused(bool limited) {
        bool all_cpu = true;
        for (const ModulePlace & m : out_.modules) {
            for (const DevicePlace & d : m.devices) all_cpu = all_cpu && devices_.is_cpu(d.device);
        }
        if (!request_.max_vram.empty() && all_cpu && request_.max_ram == 0)
            out_.notes.push_back("--max-vram changes nothing: everything computes on the CPU, whose memory "
                                 "--max-ram SIZE limits");
        if (request_.stream_layers && !limited)
            out_.notes.push_back("--stream-layers changes nothing without --max-vram or --max-ram");
    }

    const PlacementRequest & request_;
    const Devices & devices_;
    Placement & out_;
};

} // namespace

bool ModulePlace::limited() const {
    return std::any_of(devices.begin(), devices.end(),
                       [](const DevicePlace & d) { return d.budget.has_value(); });
}

Placement Placement::of(const PlacementRequest & request, const Devices & devices) {
    Placement out;
    Reader reader(request, devices, out);
    reader.backends();
    reader.homes();
    reader.split_modes();
    reader.budgets();
    return out;
}

} // namespace sd
