#include "quantize/selection.h"

#include "base/rotation.h"
#include "quantize/patterns.h"
#include "quantize/presets.h"
#include "quantize/row_kernels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sd {
namespace {

constexpr std::string_view kEnd = ".weight";
constexpr int kUsualGroups[] = {256, 64, 16, 4};

// Patterns of one option, with a note of those that were of use.
class Patterns {
  public:
    Patterns(std::string option, const std::string & text)
        : option_(std::move(option)), list_(pattern_list(option_, text)), used_(list_.size()) {}

    bool match(const std::vector<std::string> & names) {
        bool any = false;
        for (size_t i = 0; i < list_.size(); ++i) {
            for (const std::string & name : names) {
                if (!matches(list_[i], name)) continue;
                any = used_[i] = true;
            }
        }
        return any;
    }

    void warn(std::vector<std::string> & warnings) const {
        for (size_t i = 0; i < list_.size(); ++i) {
            if (!used_[i]) warnings.push_back(option_ + " " + printable(list_[i]) + " matches no layer");
        }
    }

  private:
    std::string option_;
    std::vector<std::string> list_;
    std::vector<bool> used_;
};

struct Wish {
    std::optional<LayerFormat> format; // nothing: it stays, unless it is open
    int group = 0;
    std::string why;
    bool named = false; // by a rule or an option: what cannot be done is an Error
    bool open = false;  // the format is chosen later
};

class Selector {
  public:
    Selector(const Checkpoint & checkpoint, const QuantModules & quants, const SelectionRequest & request)
        : checkpoint_(checkpoint), request_(request), include_("--include", request.include),
          exclude_("--exclude", request.exclude) {
        format_ = layer_format(request.format);
        if (!format_ && !is_auto())
            throw Error({"E_ARGUMENT",
                         {},
                         {},
                         "--format: " + in_quotes(request.format, 40) + " is no format a layer can get",
                         layer_format_names() + ", auto"});
        if (request.group != 0) check_group();
        if (!request.rules_file.empty()) rules_ = read_rules(request.rules_file);
        for (const QuantModule & m : quants.modules) modules_[m.weight] = &m;
        companions_.insert(quants.consumed.begin(), quants.consumed.end());
        find_presets(quants);
    }

    Selection select() {
        for (const TensorInfo & t : checkpoint_.tensors()) {
            if (!t.name.ends_with(kEnd) || t.shape.size() < 2 || companions_.contains(&t)) continue;
            consider(t);
        }
        for (const LayerRule & rule : rules_) {
            if (!used_rules_.contains(rule.line))
                out_.warnings.push_back(request_.rules_file + ": the rule in line " +
                                        std::to_string(rule.line) + " matches no layer");
        }
        for (const Model & m : models_) {
            if (m.used) out_.presets.push_back(m.title + ": " + m.preset->name);
        }
        exclude_.warn(out_.warnings);
        include_.warn(out_.warnings);
        return std::move(out_);
    }

  private:
    bool is_auto() const { return request_.format == "auto"; }

    void check_group() const {
        if (request_.group < kUsualGroups[3] || !is_rotation_group(request_.group))
            throw Error({"E_ARGUMENT",
                         {},
                         {},
                         "--group: " + std::to_string(request_.group) + " is no power of four from 4 to " +
                             std::to_string(kMaxRotationGroup),
                         {}});
        if (format_ == LayerFormat::int8)
            throw Error({"E_ARGUMENT", {}, {}, "--group: int8 is not rotated", "--format int8-convrot is"});
    }

    struct Model {
        std::string prefix, title;
        const Preset * preset; // NULL: it stays as it is
        bool used = false;
    };

    // Parts of models, and those that do not run, can be quantized all the same.
    std::vector<FoundModel> found_models(const QuantModules & quants) {
        try {
            return find_models(checkpoint_, quants);
        } catch (const Error & error) {
            out_.warnings.push_back(std::string(error.what()) + ": it is treated as an unknown model");
            return {};
        }
    }

    void find_presets(const QuantModules & quants) {
        const bool given = !request_.preset.empty() && request_.preset != "none";
        const Preset * preset = given ? &preset_named(request_.preset) : nullptr;
        for (const FoundModel & m : found_models(quants)) {
            if (m.role == ModelRole::adapter)
                throw Error({"E_MODEL",
                             checkpoint_.files()[0].file.path(),
                             {},
                             "is an adapter (" + m.title + "), which is not quantized",
                             {}});
            // A VAE is convolutions, and a small part of a model.
            const bool vae = m.role == ModelRole::vae;
            models_.push_back({m.prefix, m.title, vae ? nullptr : given ? preset : &preset_for(m.family)});
        }
        for (const char * prefix : {"model.diffusion_model.", "text_encoders.llm.", ""})
            models_.push_back({prefix, "an unknown model", given ? preset : &preset_for("")});
    }

    // That with the longest prefix.
    Model & model_of(const std::string & name) {
        Model * best = &models_.back(); // of all names
        for (auto m = models_.rbegin(); m != models_.rend(); ++m) {
            if (name.starts_with(m->prefix) && m->prefix.size() >= best->prefix.size()) best = &*m;
        }
        return *best;
    }

    Wish wish(const TensorInfo & t, const std::string & name) {
        Model & model = model_of(name);
        const std::string inner = name.substr(model.prefix.size());
        const std::string & stored = checkpoint_.stored_name(t);
        const std::vector<std::string> names = {name, stored.substr(0, stored.size() - kEnd.size()), inner};
        // All are asked, so that each knows whether it was of use.
        const bool included = include_.match(names), excluded = exclude_.match(names);
        for (const LayerRule & rule : rules_) {
            const auto is = [&](const std::string & n) { return matches(rule.pattern, n); };
            if (!std::any_of(names.begin(), names.end(), is)) continue;
            used_rules_.insert(rule.line);
            return {rule.format, rule.group, "rule in line " + std::to_string(rule.line), true};
        }
        if (excluded) return {{}, 0, "--exclude", true};
        if (included) return {format_, request_.group, "--include", true, is_auto()};
        if (request_.preset == "none") return {{}, 0, "--preset none", false};
        if (model.preset == nullptr) return {{}, 0, model.title, false};
        model.used = true;
        const std::string preset = "preset " + std::string(model.preset->name);
        const std::string_view pattern = kept_by(*model.preset, inner);
        if (!pattern.empty()) return {{}, 0, preset + " (" + std::string(pattern) + ")", false};
        return {format_, request_.group, preset, false, is_auto()};
    }

    void consider(const TensorInfo & t) {
        ChosenLayer layer = {t.name.substr(0, t.name.size() - kEnd.size()), &t, nullptr, {}, 1, 0, 0, {}};
        const Wish w = wish(t, layer.name);
        if (!w.format && !w.open) return keep(layer, w.why);
        if (const auto found = modules_.find(&t); found != modules_.end()) {
            if (!is_float8(found->second->format)) refuse_twice(t, w, *found->second);
            layer.module = found->second;
        }
        if (is_blocks(t.type)) refuse_blocks(t);
        if (!is_float(t.type) && layer.module == nullptr) return unfit(layer, w, "holds no floats");
        if (t.shape.size() != 2) return unfit(layer, w, "is no matrix: shape " + shape_text(t.shape));
        if (t.elements() == 0) return unfit(layer, w, "has no elements");
        layer.n = t.shape[0];
        layer.k = t.shape[1];
        layer.why = w.why;
        if (w.open) return open_choice(layer, w);
        layer.format = *w.format;
        const std::string problem = set_group(layer, w.group);
        if (!problem.empty()) return unfit(layer, w, problem);
        out_.layers.push_back(std::move(layer));
    }

    // All formats that fit, and staying as it is, which comes first.
    void open_choice(ChosenLayer & layer, const Wish & wish) {
        layer.candidates.push_back({});
        for (const LayerFormat format : kLayerFormats) {
            layer.format = format;
            layer.group = 1;
            if (set_group(layer, wish.group).empty()) layer.candidates.push_back({format, layer.group});
        }
        layer.format = *layer.candidates[1].format; // int8 fits every matrix
        layer.group = layer.candidates[1].group;
        out_.layers.push_back(std::move(layer));
    }

    // "" or what does not fit.
    std::string set_group(ChosenLayer & layer, int asked) const {
        const std::string inputs = "its " + std::to_string(layer.k) + " input features";
        if (layer.format == LayerFormat::int8) return {};
        if (layer.format == LayerFormat::w4a8 && layer.k % kRelativeRun != 0)
            return inputs + " are no multiple of 16, as w4a8 needs";
        if (asked != 0) {
            if (layer.k % asked != 0)
                return "the group " + std::to_string(asked) + " does not divide " + inputs;
            layer.group = asked;
            return {};
        }
        for (const int group : kUsualGroups) {
            if (layer.k % group != 0) continue;
            layer.group = group;
            return {};
        }
        return "no power of four from 4 to 256 divides " + inputs;
    }

    void keep(const ChosenLayer & layer, const std::string & why) {
        out_.kept.push_back({layer.name, layer.weight, why});
    }

    void unfit(const ChosenLayer & layer, const Wish & wish, const std::string & problem) {
        const TensorInfo & t = *layer.weight;
        if (wish.named || (wish.group != 0 && problem.starts_with("the group")))
            throw checkpoint_.error(t, layer.k > 0 ? "E_GROUP_DIVIDES" : "E_TYPE", problem,
                                    "leave it as it is with --exclude or a rule PATTERN = keep");
        keep(layer, problem);
        // Convolutions are many and no surprise.
        if (t.shape.size() == 2)
            out_.warnings.push_back(checkpoint_.stored_name(t) + ": " + problem + "; it stays " +
                                    type_name(t.type));
    }

    [[noreturn]] void refuse_twice(const TensorInfo & t, const Wish & wish, const QuantModule & m) const {
        throw checkpoint_.error(t, "E_TYPE",
                                std::string("is quantized already (") + quant_format_name(m.format) +
                                    "), and quantizing twice" +
                                    (wish.open ? "" : std::string(" to ") + layer_format_name(*wish.format)) +
                                    " would add to its errors",
                                "begin from the original, or leave it as it is with --exclude or a rule "
                                "PATTERN = keep");
    }

    [[noreturn]] void refuse_blocks(const TensorInfo & t) const {
        throw checkpoint_.error(t, "E_TYPE", std::string("is quantized already (") + type_name(t.type) + ")",
                                "begin from a file in F32, F16, BF16 or scaled FP8");
    }

    const Checkpoint & checkpoint_;
    const SelectionRequest & request_;
    std::optional<LayerFormat> format_;
    Patterns include_, exclude_;
    std::vector<LayerRule> rules_;
    std::set<int> used_rules_; // lines
    std::map<const TensorInfo *, const QuantModule *> modules_;
    std::set<const TensorInfo *> companions_;
    std::vector<Model> models_;
    Selection out_;
};

} // namespace

uint64_t bytes_of(const ChosenLayer & layer) {
    const bool scaled = layer.module != nullptr && layer.module->scale != nullptr;
    return layer.weight->bytes + (scaled ? layer.module->scale->bytes : 0);
}

Selection select_layers(const Checkpoint & checkpoint, const QuantModules & quants,
                        const SelectionRequest & request) {
    return Selector(checkpoint, quants, request).select();
}

} // namespace sd
