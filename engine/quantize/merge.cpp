#include "quantize/merge.h"

#include "checkpoint/values/floats.h"
#include "models/families.h"
#include "models/krea2/config.h"
#include "models/qwen3_vl/config.h"

#include <algorithm>
#include <utility>

namespace sd {
namespace {

constexpr const char * kQuantizedAdvice = "begin from the original in F32, F16, BF16 or scaled FP8";

bool holds_sums(const TensorInfo & tensor) {
    const auto type = ggml_type_of(tensor.type);
    return type && !is_blocks(tensor.type) && is_float_target(*type);
}

// The model of that role, or an empty table, in which nothing is found.
ModelTable table_of(const Checkpoint & checkpoint, const QuantModules & quants,
                    const std::vector<FoundModel> & models, ModelRole role, const char * family,
                    CanonicalName names) {
    static const Checkpoint none;
    for (const FoundModel & m : models) {
        if (m.role == role && m.family.starts_with(family))
            return ModelTable(checkpoint, quants, m.prefix, names);
    }
    return ModelTable(none, {}, "", names);
}

} // namespace

MergedAdapters::MergedAdapters(const Checkpoint & checkpoint, const QuantModules & quants,
                               const std::vector<AdapterUse> & uses) {
    if (uses.empty()) return;
    const std::vector<FoundModel> models = find_models(checkpoint, quants);
    const ModelTable diffusion =
        table_of(checkpoint, quants, models, ModelRole::diffusion, "krea2", krea2_name);
    const ModelTable text =
        table_of(checkpoint, quants, models, ModelRole::text_encoder, "qwen3", qwen3_vl_name);
    if (diffusion.tensors().empty() && text.tensors().empty())
        throw Error({"E_ADAPTER",
                     checkpoint.files()[0].file.path(),
                     {},
                     "adapters are merged into Krea 2 and Qwen3-VL models, and this is neither",
                     {}});
    changes_ = read_adapters(combined(uses), AdapterTargets(diffusion, text), &notes_);
    for (AdapterNote & note : notes_) {
        if (note.use.strength == 0.0f) note.changed = 0;
    }
    take(diffusion, AdapterPart::diffusion);
    take(text, AdapterPart::text_encoder);
}

void MergedAdapters::take(const ModelTable & table, AdapterPart part) {
    for (const auto & [name, changes] : changes_[size_t(part)]) {
        const ModelTensor * tensor = table.find(name);
        if (tensor == nullptr)
            throw Error({"E_ADAPTER", table.path(), name,
                         "is not there, and an adapter has a difference for it", "merging adds no tensors"});
        const bool quantized = tensor->quant != nullptr && !is_float8(tensor->quant->format);
        if (quantized || is_blocks(tensor->info->type))
            throw table.checkpoint().error(
                *tensor->info, "E_ADAPTER",
                std::string("is quantized already (") +
                    (quantized ? quant_format_name(tensor->quant->format) : type_name(tensor->info->type)) +
                    "), and adapters are merged into floats",
                kQuantizedAdvice);
        by_tensor_[tensor->info] = &changes;
    }
}

const std::vector<Change> * MergedAdapters::of(const TensorInfo * tensor) const {
    const auto found = by_tensor_.find(tensor);
    return found != by_tensor_.end() ? found->second : nullptr;
}

void MergedAdapters::attach(Selection & selection) const {
    for (ChosenLayer & layer : selection.layers) {
        layer.changes = of(layer.weight);
        if (layer.changes != nullptr && !holds_sums(*layer.weight))
            std::erase_if(layer.candidates, [](const Candidate & c) { return !c.format; });
    }
}

void MergedAdapters::attach(const Checkpoint & checkpoint, QuantizePlan & plan) const {
    for (CopyPlan & copy : plan.copies) {
        copy.changes = of(copy.source);
        if (copy.changes != nullptr && !holds_sums(*copy.source))
            throw checkpoint.error(*copy.source, "E_ADAPTER",
                                   std::string("is changed by an adapter and stays ") +
                                       type_name(copy.source->type) + ", which would lose most of it",
                                   "quantize it, too: --include, or a rule");
    }
}

} // namespace sd
