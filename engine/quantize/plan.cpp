#include "quantize/plan.h"

#include "checkpoint/safetensors/writer.h"
#include "checkpoint/values/floats.h"
#include "convert/metadata.h"
#include "quantize/encode.h"
#include "quantize/row_kernels.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sd {
namespace {

constexpr const char * kHeaderSettings = "_quantization_metadata";

// A tensor of the new file, and who wants to know where it lies.
struct Placed {
    TensorDeclaration declaration;
    uint64_t * offset;

    size_t unit() const { return run_bytes(declaration.type, 1); }
    uint64_t bytes() const { return tensor_bytes(declaration.type, declaration.shape).value_or(0); }
};

class Planner {
  public:
    Planner(const Checkpoint & checkpoint, const QuantModules & quants, const Selection & selection)
        : checkpoint_(checkpoint), quants_(quants) {
        for (const ChosenLayer & layer : selection.layers) chosen_[layer.weight] = &layer;
    }

    QuantizePlan plan(bool header_settings) {
        std::set<std::string> plain;
        for (const auto & [weight, layer] : chosen_) {
            if (layer->module != nullptr) plain.insert(layer->module->name);
        }
        const ConvertPlan files =
            plan_conversion(checkpoint_, quants_, {}, {}, ContainerKind::safetensors, plain);
        list_in_order_of_files(files);
        place();
        std::map<std::string, std::string> metadata = safetensors_metadata(checkpoint_, files);
        if (header_settings) add_settings(metadata);
        std::vector<TensorDeclaration> declarations;
        for (const Placed & p : placed_) declarations.push_back(p.declaration);
        uint64_t data = 0;
        plan_.start = safetensors_start(declarations, metadata, data);
        for (const Placed & p : placed_) *p.offset += plan_.start.size();
        plan_.bytes = plan_.start.size() + data;
        return std::move(plan_);
    }

  private:
    void list_in_order_of_files(const ConvertPlan & files) {
        std::vector<const PlannedTensor *> order;
        for (const PlannedTensor & t : files.tensors) order.push_back(&t);
        std::sort(order.begin(), order.end(), [](const PlannedTensor * a, const PlannedTensor * b) {
            return std::tie(a->source->file, a->source->offset, a->name) <
                   std::tie(b->source->file, b->source->offset, b->name);
        });
        // Those who want offsets must not move.
        plan_.copies.reserve(order.size());
        plan_.layers.reserve(chosen_.size());
        std::set<std::string> names;
        for (const PlannedTensor * t : order) {
            if (const auto found = chosen_.find(t->source); found != chosen_.end())
                add_layer(*found->second, *t, names);
        }
        for (const PlannedTensor * t : order) {
            // Blank markers, which some files have beside float weights, make room for the layer's own.
            if (!chosen_.contains(t->source) && !(names.contains(t->name) && is_companion(t->source)))
                add_copy(*t);
        }
        std::sort(plan_.order.begin(), plan_.order.end(), [&](int64_t a, int64_t b) {
            const TensorInfo &x = *source_of(a), &y = *source_of(b);
            return std::tie(x.file, x.offset, x.name) < std::tie(y.file, y.offset, y.name);
        });
    }

    const TensorInfo * source_of(int64_t item) const {
        return item >= 0 ? plan_.copies[size_t(item)].source : plan_.layers[size_t(-1 - item)].layer->weight;
    }

    bool is_companion(const TensorInfo * t) const {
        return std::find(quants_.consumed.begin(), quants_.consumed.end(), t) != quants_.consumed.end();
    }

    void add_copy(const PlannedTensor & t) {
        plan_.order.push_back(int64_t(plan_.copies.size()));
        plan_.copies.push_back({t.name, t.source, 0, t.bytes});
        placed_.push_back({{t.name, t.type, t.source->shape}, &plan_.copies.back().offset});
    }

    void add_layer(const ChosenLayer & layer, const PlannedTensor & t, std::set<std::string> & names) {
        constexpr size_t kEnd = std::string_view(".weight").size();
        plan_.order.push_back(-1 - int64_t(plan_.layers.size()));
        plan_.layers.push_back({});
        LayerPlan & plan = plan_.layers.back();
        plan.layer = &layer;
        plan.name = t.name.substr(0, t.name.size() - kEnd);
        plan.settings = settings_json(layer.format, layer.group);
        const auto part = [&](const char * suffix, StoredType type, std::vector<int64_t> shape,
                              uint64_t & offset) {
            placed_.push_back({{plan.name + suffix, type, std::move(shape)}, &offset});
            plan.bytes += placed_.back().bytes();
            names.insert(plan.name + suffix);
        };
        const bool packed = layer.format == LayerFormat::w4a4 || layer.format == LayerFormat::w4a8;
        part(".weight", StoredType::i8, {layer.n, packed ? layer.k / 2 : layer.k}, plan.weight);
        if (layer.format == LayerFormat::w4a8) {
            part(".weight_s_rel", StoredType::f8_e4m3, {layer.n, layer.k / kRelativeRun}, plan.relative);
            part(".weight_s_channel", StoredType::f32, {layer.n}, plan.channel);
            part(".weight_codebook", StoredType::f32, {kLevels}, plan.codebook);
        } else if (layer.format == LayerFormat::w4a4) {
            part(".weight_scale", StoredType::f32, {layer.n}, plan.scale);
        } else {
            part(".weight_scale", StoredType::f32, {layer.n, 1}, plan.scale);
        }
        part(".comfy_quant", StoredType::u8, {int64_t(plan.settings.size())}, plan.marker);
    }

    // Larger elements first, so that all are aligned.
    void place() {
        std::stable_sort(placed_.begin(), placed_.end(),
                         [](const Placed & a, const Placed & b) { return a.unit() > b.unit(); });
        uint64_t at = 0;
        for (const Placed & p : placed_) {
            *p.offset = at;
            at += p.bytes(); // what does not fit is refused with the header
        }
    }

    void add_settings(std::map<std::string, std::string> & metadata) const {
        nlohmann::ordered_json all = {{"format_version", "1.0"},
                                      {"layers", nlohmann::ordered_json::object()}};
        if (const auto found = metadata.find(kHeaderSettings); found != metadata.end())
            all = nlohmann::ordered_json::parse(found->second); // checked when the layers were found
        for (const LayerPlan & plan : plan_.layers)
            all["layers"][plan.name] = nlohmann::ordered_json::parse(plan.settings);
        metadata[kHeaderSettings] = all.dump();
    }

    const Checkpoint & checkpoint_;
    const QuantModules & quants_;
    std::map<const TensorInfo *, const ChosenLayer *> chosen_;
    std::vector<Placed> placed_;
    QuantizePlan plan_;
};

} // namespace

std::string settings_json(LayerFormat format, int group) {
    const std::string rotation = "\"convrot_groupsize\": " + std::to_string(group) + "}";
    switch (format) {
    case LayerFormat::int8: return R"({"format": "int8_tensorwise"})";
    case LayerFormat::int8_convrot: return R"({"format": "int8_tensorwise", "convrot": true, )" + rotation;
    case LayerFormat::w4a4: return R"({"format": "convrot_w4a4", )" + rotation;
    case LayerFormat::w4a8: return R"({"format": "asym_w4a8_int8", "group_size": 16, )" + rotation;
    }
    return {};
}

uint64_t layer_bytes(LayerFormat format, int group, int64_t n, int64_t k) {
    const bool w4a8 = format == LayerFormat::w4a8;
    const int64_t row = row_bytes(format, k) + int64_t(sizeof(float)) + (w4a8 ? k / kRelativeRun : 0);
    return uint64_t(n * row) + settings_json(format, group).size() + (w4a8 ? kLevels * sizeof(float) : 0);
}

QuantizePlan plan_quantization(const Checkpoint & checkpoint, const QuantModules & quants,
                               const Selection & selection, bool header_settings) {
    return Planner(checkpoint, quants, selection).plan(header_settings);
}

} // namespace sd
