#include "adapters/adapter.h"

#include "adapters/entry.h"
#include "base/error.h"
#include "base/log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>

namespace sd {
namespace {

constexpr size_t kNamed = 3; // of keys that match nothing

// What a file has for one module, under whichever names.
struct Module {
    std::vector<AdapterTarget> targets;
    AdapterTensors tensors;
};

class AdapterReader {
  public:
    AdapterReader(const Checkpoint & file, const AdapterTargets & targets) : file_(file), targets_(targets) {}

    Adapter read() {
        out_.keys = file_.tensors().size();
        for (const TensorInfo & t : file_.tensors()) sort_in(t);
        for (const auto & [name, module] : modules_) take(name, module);
        std::sort(out_.unmatched.begin(), out_.unmatched.end());
        return std::move(out_);
    }

  private:
    void sort_in(const TensorInfo & tensor) {
        const std::optional<AdapterKey> key = parse_adapter_key(tensor.name);
        if (!key) return unmatched(tensor);
        const bool bias = key->role == AdapterRole::bias_difference;
        std::vector<AdapterTarget> found =
            bias ? targets_.find_bias(key->module) : targets_.find(key->module);
        if (found.empty()) return unmatched(tensor);
        if (key->role == AdapterRole::unsupported) {
            throw file_.error(tensor, "E_ADAPTER",
                              "belongs to an adapter of the kind " + std::string(key->kind) +
                                  ", which cannot be run here");
        }
        // The same module may have several names in one file.
        std::string name = found.front().tensor + (found.size() > 1 ? " (fused)" : "");
        Module & module = modules_[name];
        module.targets = std::move(found);
        const auto [at, added] = module.tensors.emplace(key->role, &tensor);
        if (!added)
            throw file_.error(tensor, "E_ADAPTER", "changes the same as " + printable(name_of(*at->second)));
    }

    void take(const std::string & name, const Module & module) {
        const auto bias = module.tensors.find(AdapterRole::bias_difference);
        if (bias == module.tensors.end() && !has_factors(module.tensors)) {
            for (const auto & [role, tensor] : module.tensors) unmatched(*tensor);
            return;
        }
        const AdapterTarget & first = module.targets.front();
        if (bias != module.tensors.end()) {
            if (module.tensors.size() > 1) refuse_twice(*bias->second, first.tensor);
            add(first, read_difference(file_, *bias->second, first.n, first.k), *bias->second);
            return;
        }
        int64_t rows = 0;
        for (const AdapterTarget & t : module.targets) rows += t.n;
        const Change whole = read_change(file_, module.tensors, name, rows, first.k);
        int64_t row = 0;
        for (const AdapterTarget & t : module.targets) {
            const bool one = module.targets.size() == 1;
            add(t, one ? whole : rows_of(whole, row, t.n, t.k), *module.tensors.begin()->second);
            row += t.n;
        }
    }

    void add(const AdapterTarget & target, Change change, const TensorInfo & tensor) {
        std::vector<Change> & list = out_.changes[size_t(target.part)][target.tensor];
        if (!list.empty()) refuse_twice(tensor, target.tensor);
        list.push_back(cheapest(std::move(change), target.n, target.k));
    }

    [[noreturn]] void refuse_twice(const TensorInfo & tensor, const std::string & target) const {
        throw file_.error(tensor, "E_ADAPTER",
                          "changes " + target + ", which another tensor of the file changes, too");
    }

    const std::string & name_of(const TensorInfo & tensor) const { return file_.stored_name(tensor); }
    void unmatched(const TensorInfo & tensor) { out_.unmatched.push_back(name_of(tensor)); }

    const Checkpoint & file_;
    const AdapterTargets & targets_;
    std::map<std::string, Module> modules_;
    Adapter out_;
};

std::string first_of(const std::vector<std::string> & names) {
    std::string text;
    for (size_t i = 0; i < std::min(kNamed, names.size()); ++i)
        text += (i > 0 ? ", " : "") + printable(names[i]);
    return text + (names.size() > kNamed ? ", ..." : "");
}

AdapterNote note_of(const AdapterUse & use, const Adapter & adapter) {
    AdapterNote note = {use, 0, adapter.keys, adapter.unmatched};
    for (const ModelChanges & part : adapter.changes) note.changed += part.size();
    return note;
}

void tell(const AdapterNote & note) {
    const std::string & path = note.use.path;
    std::string value = std::to_string(note.use.strength);
    value.erase(value.find_last_not_of('0') + 1);
    if (value.ends_with('.')) value.pop_back();
    log_info("adapter " + path + ": changes " + std::to_string(note.changed) + " tensors with the strength " +
             value);
    if (note.unmatched.empty()) return;
    log_warn(path + ": " + std::to_string(note.unmatched.size()) + " of " + std::to_string(note.keys) +
             " tensors match nothing in the models: " + first_of(note.unmatched));
}

} // namespace

Adapter read_adapter(const std::string & path, const AdapterTargets & targets) {
    Checkpoint file;
    file.add(path);
    Adapter adapter = AdapterReader(file, targets).read();
    if (std::all_of(adapter.changes.begin(), adapter.changes.end(),
                    [](const ModelChanges & c) { return c.empty(); })) {
        throw Error({"E_ADAPTER",
                     path,
                     {},
                     "none of its " + std::to_string(adapter.keys) + " tensors matches the models" +
                         (adapter.unmatched.empty() ? "" : ": " + first_of(adapter.unmatched)),
                     "it belongs to another model, or is no adapter"});
    }
    return adapter;
}

std::array<ModelChanges, kAdapterParts> read_adapters(const std::vector<AdapterUse> & uses,
                                                      const AdapterTargets & targets,
                                                      std::vector<AdapterNote> * notes) {
    std::array<ModelChanges, kAdapterParts> all;
    for (const AdapterUse & use : uses) {
        Adapter adapter = read_adapter(use.path, targets);
        const AdapterNote note = note_of(use, adapter);
        tell(note);
        if (notes != nullptr) notes->push_back(note);
        if (use.strength == 0.0f) continue; // nothing is added, not even zeros
        for (size_t part = 0; part < kAdapterParts; ++part) {
            for (auto & [tensor, changes] : adapter.changes[part]) {
                for (Change & c : changes) {
                    c.factor *= use.strength;
                    if (!std::isfinite(c.factor))
                        throw Error({"E_ADAPTER", use.path, {}, "strength and alpha exceed all bounds", {}});
                    all[part][tensor].push_back(std::move(c));
                }
            }
        }
    }
    return all;
}

std::vector<AdapterUse> combined(std::vector<AdapterUse> uses) {
    std::map<std::string, float> strengths;
    for (const AdapterUse & use : uses) {
        if (!std::isfinite(use.strength))
            throw Error({"E_ARGUMENT", use.path, {}, "the adapter's strength is no finite number", {}});
        strengths[use.path] += use.strength;
    }
    uses.clear();
    for (const auto & [path, strength] : strengths) uses.push_back({path, strength});
    return uses;
}

std::string fingerprint(const std::vector<AdapterUse> & uses) {
    namespace fs = std::filesystem;
    std::string text;
    for (const AdapterUse & use : uses) {
        const fs::path path(std::u8string(use.path.begin(), use.path.end()));
        std::error_code problem;
        const uint64_t size = File::open(use.path).size(); // an Error with the reason
        const auto time = fs::last_write_time(path, problem).time_since_epoch().count();
        const auto strength = std::bit_cast<uint32_t>(use.strength);
        text += use.path + '\n' + std::to_string(strength) + '\n' + std::to_string(size) + '\n' +
                std::to_string(problem ? 0 : int64_t(time)) + '\n';
    }
    return text;
}

} // namespace sd
