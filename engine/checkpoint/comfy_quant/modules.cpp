#include "base/rotation.h"
#include "checkpoint/comfy_quant/formats.h"

#include <algorithm>

namespace sd {
namespace {

using Entries = std::map<std::string, SettingsEntry>;

constexpr std::string_view kCompanions[] = {".comfy_quant",      ".weight_scale",    ".weight_s_rel",
                                            ".weight_s_channel", ".weight_codebook", ".scale_weight"};
// Of no use here wherever they stand: constants for other programs' activations and attention.
constexpr std::string_view kIgnored[] = {".input_scale", ".scale_input", ".comfy_attention.config"};

std::string count_text(size_t n) { return n == 1 ? "1 layer" : std::to_string(n) + " layers"; }
const char * are(size_t n) { return n == 1 ? " is" : " are"; }
const char * have(size_t n) { return n == 1 ? " has" : " have"; }

bool has_part(const Checkpoint & checkpoint, const std::string & module, std::string_view suffix) {
    return part_of(checkpoint, module, suffix) != nullptr;
}

// The old marker of scaled FP8 files; of two elements when products are to be done in floats.
bool is_scaled_fp8(const std::string & name) { return name == "scaled_fp8" || name.ends_with(".scaled_fp8"); }

class Finder {
  public:
    Finder(const Checkpoint & checkpoint, const QuantOptions & options)
        : checkpoint_(checkpoint), options_(options), entries_(collect_settings(checkpoint)) {
        look_for_scaled_fp8();
    }

    QuantModules find() {
        refuse_unknown();
        for (const auto & [name, entry] : entries_) {
            if (entry.settings.blank) {
                blank(name, entry);
            } else if (entry.settings.format) {
                add(name, entry, *quant_format(*entry.settings.format));
            } else {
                without_format(name, entry);
            }
        }
        for (const TensorInfo & tensor : checkpoint_.tensors()) {
            constexpr std::string_view kWeight = ".weight";
            if (!tensor.name.ends_with(kWeight)) continue;
            const std::string module = tensor.name.substr(0, tensor.name.size() - kWeight.size());
            if (!entries_.contains(module)) without_settings(module, tensor);
        }
        refuse_unsettled();
        finish();
        return std::move(found_);
    }

  private:
    using Layers = std::vector<const TensorInfo *>; // their weights, or markers

    static const TensorInfo & place(const SettingsEntry & entry) {
        return entry.weight != nullptr ? *entry.weight : *entry.marker;
    }

    // One line for all of a file: each format with its number of layers.
    void refuse_unknown() const {
        std::map<std::string, Layers> unknown;
        for (const auto & [name, entry] : entries_) {
            const std::string format = entry.settings.format.value_or("");
            if (!format.empty() && !quant_format(format)) unknown[format].push_back(&place(entry));
        }
        if (unknown.empty()) return;
        constexpr size_t kMostNamed = 3;
        std::string cause;
        size_t named = 0;
        for (const auto & [format, layers] : unknown) {
            if (++named > kMostNamed) break;
            cause += (cause.empty() ? "" : ", ") + count_text(layers.size()) + are(layers.size()) +
                     " in format " + in_quotes(format, 40);
        }
        if (unknown.size() > kMostNamed)
            cause += ", others in " + std::to_string(unknown.size() - kMostNamed) + " more unknown formats";
        cause += "; this build runs " + supported_formats(options_.has_operators);
        throw checkpoint_.error(*unknown.begin()->second[0], "E_FORMAT_UNKNOWN", cause);
    }

    void refuse_operators(const TensorInfo & weight) const {
        throw checkpoint_.error(
            weight, "E_UPSTREAM_BUILD",
            "this build cannot run INT8 and INT4 layers, as its ggml has no operator extensions",
            "use a build with the ggml of this project");
    }

    void add(const std::string & name, const SettingsEntry & entry, QuantFormat format,
             std::string_view scale = ".weight_scale") {
        if (!is_float8(format) && !options_.has_operators) refuse_operators(place(entry));
        found_.modules.push_back(check_module(checkpoint_, name, entry, format, scale));
        const QuantModule & module = found_.modules.back();
        const bool one_scale = module.scale != nullptr && module.scale->elements() == 1 && module.n > 1;
        if (module.group > 1 && one_scale) coarse_.push_back(module.weight);
    }

    // Nothing in the marker: harmless beside floats, a defect beside codes.
    void blank(const std::string & name, const SettingsEntry & entry) {
        const bool scaled =
            has_part(checkpoint_, name, ".weight_scale") || has_part(checkpoint_, name, ".weight_s_rel");
        const bool plain =
            entry.weight == nullptr || is_float(entry.weight->type) || is_blocks(entry.weight->type);
        if (entry.weight == nullptr || (plain && !scaled)) {
            blank_.push_back(&place(entry));
        } else if (may_assume(name, *entry.weight)) {
            add(name, assumed(entry), QuantFormat::int8_tensorwise);
        } else if (entry.marker != nullptr && entry.marker->elements() == 0) {
            throw checkpoint_.error(*entry.marker, "E_CONFIG_SIZE",
                                    "has 0 bytes, but the weight beside it is quantized",
                                    "the file is damaged or was written by a faulty converter: get it again");
        } else {
            no_format_.push_back(&place(entry));
        }
    }

    // The option stands in for what the settings do not say, never against what they say.
    SettingsEntry assumed(SettingsEntry entry) const {
        entry.from = "option";
        if (entry.settings.convrot) return entry;
        entry.settings.convrot = options_.assume_int8_group > 1;
        entry.settings.convrot_group = options_.assume_int8_group;
        return entry;
    }

    bool may_assume(const std::string & name, const TensorInfo & weight) const {
        return options_.assume_int8_group > 0 && weight.type == StoredType::i8 &&
               has_part(checkpoint_, name, ".weight_scale");
    }

    void without_format(const std::string & name, const SettingsEntry & entry) {
        if (may_assume(name, *entry.weight)) return add(name, assumed(entry), QuantFormat::int8_tensorwise);
        no_format_.push_back(entry.weight);
    }

    void without_settings(const std::string & name, const TensorInfo & weight) {
        SettingsEntry entry;
        entry.weight = &weight;
        if (weight.type == StoredType::f8_e4m3 || weight.type == StoredType::f8_e5m2)
            return float8(name, entry);
        if (has_scaled_fp8_ && has_part(checkpoint_, name, ".scale_weight"))
            throw checkpoint_.error(weight, "E_WEIGHT_DTYPE",
                                    "has a scale_weight beside it, but is " +
                                        std::string(type_name(weight.type)) + ", not an 8-bit float");
        if ((weight.type != StoredType::i8 && weight.type != StoredType::u8) || weight.shape.size() < 2)
            return;
        if (!options_.has_operators) refuse_operators(weight);
        if (may_assume(name, weight)) return add(name, assumed(entry), QuantFormat::int8_tensorwise);
        (has_part(checkpoint_, name, ".weight_scale") && weight.type == StoredType::i8 ? no_settings_
                                                                                       : codes_)
            .push_back(&weight);
    }

    // Scaled FP8 without settings: its scale has one of two names. Without a scale it is a float like others.
    void float8(const std::string & name, SettingsEntry & entry) {
        entry.from = "names";
        entry.settings.full_precision = full_precision_;
        const QuantFormat format =
            entry.weight->type == StoredType::f8_e4m3 ? QuantFormat::float8_e4m3fn : QuantFormat::float8_e5m2;
        for (const std::string_view scale : {".scale_weight", ".weight_scale"}) {
            if (has_part(checkpoint_, name, scale)) return add(name, entry, format, scale);
        }
    }

    void refuse_unsettled() const {
        if (!no_format_.empty())
            throw checkpoint_.error(*no_format_[0], "E_FORMAT_MISSING",
                                    count_text(no_format_.size()) + have(no_format_.size()) +
                                        " settings without the key \"format\"",
                                    "if they are int8_tensorwise, --assume-int8-group 256 says so; a group "
                                    "in the settings counts more");
        if (!no_settings_.empty())
            throw checkpoint_.error(*no_settings_[0], "E_FORMAT_MISSING",
                                    count_text(no_settings_.size()) + have(no_settings_.size()) +
                                        " INT8 weights without ConvRot markers: scales, but no settings",
                                    "--assume-int8-group G gives their rotation group, 1: not rotated");
        if (!codes_.empty())
            throw checkpoint_.error(*codes_[0], "E_FORMAT_MISSING",
                                    count_text(codes_.size()) + have(codes_.size()) + " " +
                                        type_name(codes_[0]->type) +
                                        " weights without settings that say what they are");
    }

    void finish() {
        const auto by_module = [](const QuantModule & a, const QuantModule & b) { return a.name < b.name; };
        std::sort(found_.modules.begin(), found_.modules.end(), by_module);
        for (const TensorInfo & tensor : checkpoint_.tensors()) {
            if (is_consumed(tensor)) found_.consumed.push_back(&tensor);
        }
        warn(blank_, " an empty comfy_quant marker and a float weight");
        warn(coarse_, " rotated weights and one scale for the whole matrix, which costs quality");
    }

    bool is_consumed(const TensorInfo & tensor) const {
        const std::string & name = tensor.name;
        const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
        if (is_scaled_fp8(name) || std::any_of(std::begin(kIgnored), std::end(kIgnored), ends)) return true;
        const auto suffix = std::find_if(std::begin(kCompanions), std::end(kCompanions), ends);
        if (suffix == std::end(kCompanions)) return false;
        const std::string module = name.substr(0, name.size() - suffix->size());
        const auto before = [](const QuantModule & m, const std::string & n) { return m.name < n; };
        const auto at = std::lower_bound(found_.modules.begin(), found_.modules.end(), module, before);
        return entries_.contains(module) || (at != found_.modules.end() && at->name == module);
    }

    void warn(const Layers & layers, const std::string & what) {
        if (layers.empty()) return;
        found_.warnings.push_back(count_text(layers.size()) + have(layers.size()) + what + " (" +
                                  (layers.size() > 1 ? "the first is " : "") +
                                  printable(checkpoint_.stored_name(*layers[0])) + ")");
    }

    void look_for_scaled_fp8() {
        for (const TensorInfo & tensor : checkpoint_.tensors()) {
            if (!is_scaled_fp8(tensor.name)) continue;
            has_scaled_fp8_ = true;
            full_precision_ = full_precision_ || tensor.elements() == 2;
        }
    }

    const Checkpoint & checkpoint_;
    const QuantOptions & options_;
    const Entries entries_;
    QuantModules found_;
    bool has_scaled_fp8_ = false, full_precision_ = false;
    Layers blank_, coarse_;
    Layers no_format_, no_settings_, codes_; // refused together
};

} // namespace

QuantModules find_quant_modules(const Checkpoint & checkpoint, const QuantOptions & options) {
    if (options.assume_int8_group != 0 && !is_rotation_group(options.assume_int8_group))
        throw Error("--assume-int8-group " + std::to_string(options.assume_int8_group) +
                    " is no power of four from 1 to " + std::to_string(kMaxRotationGroup));
    return Finder(checkpoint, options).find();
}

} // namespace sd
