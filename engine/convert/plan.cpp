#include "convert/plan.h"

#include "checkpoint/values/floats.h"
#include "checkpoint/values/read_values.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sd {
namespace {

std::string text(StoredType type) { return type_name(type); }

class Planner {
  public:
    Planner(const Checkpoint & checkpoint, const QuantModules & quants, const TypeRules & rules,
            const std::string & type, ContainerKind output, const std::set<std::string> & plain)
        : checkpoint_(checkpoint), quants_(quants), rules_(rules), asked_plain_(plain),
          gguf_(output == ContainerKind::gguf) {
        if (!type.empty()) type_ = stored_type(weight_type(type));
        for (const QuantModule & m : quants.modules) modules_[m.weight] = &m;
        for (const OpenedFile & f : checkpoint.files())
            plan_.renamed = plan_.renamed || f.component != checkpoint.files()[0].component;
    }

    ConvertPlan plan() {
        if (gguf_) refuse_codes();
        for (const QuantModule & m : quants_.modules) {
            if (plain_type(m)) plan_.plain.insert(m.name);
        }
        find_dropped();
        for (const TensorInfo * t : in_order_of_files()) {
            if (!dropped_.contains(t)) add(*t);
        }
        if (!gguf_) align();
        return std::move(plan_);
    }

  private:
    void refuse_codes() const {
        const auto is_codes = [](const QuantModule & m) { return !is_float8(m.format); };
        const auto first = std::find_if(quants_.modules.begin(), quants_.modules.end(), is_codes);
        if (first == quants_.modules.end()) return;
        const auto n = std::count_if(quants_.modules.begin(), quants_.modules.end(), is_codes);
        throw checkpoint_.error(*first->weight, "E_TYPE",
                                (n == 1 ? "is a layer" : "is the first of " + std::to_string(n) + " layers") +
                                    std::string(" in an INT8 or INT4 ConvRot format, which GGUF cannot hold"),
                                "name the output *.safetensors, which keeps them as they are");
    }

    // What a scaled layer is to become; nothing: it stays.
    std::optional<StoredType> plain_type(const QuantModule & module) const {
        if (!is_float8(module.format)) return std::nullopt;
        if (asked_plain_.contains(module.name)) return StoredType::f32;
        TensorInfo weight = *module.weight;
        weight.type = module.codes; // the file may call the bytes U8
        if (const auto asked = rules_.asked_type(weight)) return stored_type(*asked);
        if (!gguf_) return std::nullopt;
        if (!type_) refuse_float8(*module.weight);
        return StoredType::bf16; // has the range of codes times scales
    }

    // Markers and scales of layers that become plain, and in GGUF all markers: without such layers they are
    // of no use there.
    void find_dropped() {
        bool scaled_layers = false;
        for (const QuantModule & m : quants_.modules)
            scaled_layers = scaled_layers || (is_float8(m.format) && !plan_.plain.contains(m.name));
        for (const TensorInfo * t : quants_.consumed) {
            const size_t dot = t->name.rfind('.');
            const std::string module = dot == std::string::npos ? "" : t->name.substr(0, dot);
            // The file's mark that its 8-bit floats are scaled.
            const bool mark = t->name.ends_with("scaled_fp8") && !plan_.plain.empty() && !scaled_layers;
            if (gguf_ || mark || plan_.plain.contains(module)) {
                dropped_.insert(t);
            } else {
                kept_.insert(t);
            }
        }
    }

    std::vector<const TensorInfo *> in_order_of_files() const {
        std::vector<const TensorInfo *> order;
        for (const TensorInfo & t : checkpoint_.tensors()) order.push_back(&t);
        std::sort(order.begin(), order.end(), [](const TensorInfo * a, const TensorInfo * b) {
            // A tensor without bytes is before the one whose place it shares.
            return std::tie(a->file, a->offset, a->bytes, a->name) <
                   std::tie(b->file, b->offset, b->bytes, b->name);
        });
        return order;
    }

    void add(const TensorInfo & t) {
        PlannedTensor planned{plan_.renamed ? t.name : checkpoint_.stored_name(t), &t, nullptr, t.type};
        const auto found = modules_.find(&t);
        if (found == modules_.end()) {
            if (!kept_.contains(&t)) planned.type = type_of(t);
        } else if (const auto plain = plain_type(*found->second)) {
            planned.module = found->second;
            planned.type = *plain;
            check_container(t, planned.type);
        }
        // Blocks that stay need not be whole rows: see shapes of GGUF files.
        const auto bytes = planned.module == nullptr && planned.type == t.type
                               ? std::optional<uint64_t>(run_bytes(t.type, t.elements()))
                               : tensor_bytes(planned.type, t.shape);
        if (!bytes) throw checkpoint_.error(t, "E_TYPE", "is too large as " + text(planned.type));
        planned.bytes = *bytes;
        plan_.tensors.push_back(std::move(planned));
    }

    StoredType type_of(const TensorInfo & t) const {
        if (const auto asked = rules_.asked_type(t)) {
            check_container(t, stored_type(*asked));
            return stored_type(*asked);
        }
        if (!gguf_) return is_blocks(t.type) ? without_blocks(t) : t.type;
        if (ggml_type_of(t.type)) return t.type;
        if (is_float(t.type) && !type_) refuse_float8(t);
        return stored_type(natural_type(t.type)); // F16 has all values of the 8-bit floats
    }

    // For safetensors: stored blocks that no rule changes.
    StoredType without_blocks(const TensorInfo & t) const {
        if (type_ && !is_blocks(*type_)) return *type_; // excluded by its name, but it cannot stay
        throw checkpoint_.error(t, "E_TYPE",
                                "is stored as " + text(t.type) + ", which safetensors cannot hold",
                                "add --type f16 or bf16, or name the output *.gguf");
    }

    void check_container(const TensorInfo & t, StoredType type) const {
        if (gguf_ || !is_blocks(type)) return;
        throw checkpoint_.error(t, "E_TYPE", "is to become " + text(type) + ", which safetensors cannot hold",
                                "name the output *.gguf, or choose f32, f16 or bf16");
    }

    [[noreturn]] void refuse_float8(const TensorInfo & t) const {
        throw checkpoint_.error(t, "E_TYPE", "is " + text(t.type) + ", which GGUF cannot hold",
                                "add --type bf16, or another type");
    }

    bool is_changed() const {
        const auto same = [](const PlannedTensor & t) {
            return t.module == nullptr && t.type == t.source->type;
        };
        return !dropped_.empty() || checkpoint_.files().size() > 1 ||
               !std::all_of(plan_.tensors.begin(), plan_.tensors.end(), same);
    }

    void align() {
        if (!is_changed()) return;
        const auto unit = [](const PlannedTensor & t) { return run_bytes(t.type, 1); };
        uint64_t at = 0;
        bool aligned = true;
        for (const PlannedTensor & t : plan_.tensors) {
            aligned = aligned && at % unit(t) == 0;
            at += t.bytes; // may wrap for sizes that are refused later, which does no harm here
        }
        if (aligned) return;
        std::stable_sort(plan_.tensors.begin(), plan_.tensors.end(),
                         [&](const auto & a, const auto & b) { return unit(a) > unit(b); });
    }

    const Checkpoint & checkpoint_;
    const QuantModules & quants_;
    const TypeRules & rules_;
    const std::set<std::string> & asked_plain_;
    const bool gguf_;
    std::optional<StoredType> type_; // asked for all
    std::map<const TensorInfo *, const QuantModule *> modules_;
    std::set<const TensorInfo *> dropped_, kept_; // of the tensors quantized modules use
    ConvertPlan plan_{{}, {}, false};
};

} // namespace

ConvertPlan plan_conversion(const Checkpoint & checkpoint, const QuantModules & quants,
                            const TypeRules & rules, const std::string & type, ContainerKind output,
                            const std::set<std::string> & plain) {
    return Planner(checkpoint, quants, rules, type, output, plain).plan();
}

} // namespace sd
