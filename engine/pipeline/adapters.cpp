// The part of Engine that adapters need.
#include "base/error.h"
#include "base/log.h"
#include "pipeline/engine.h"

namespace sd {

// A tensor that adapters would change and whose values are not floats, as a reason; "" when there is none.
// 8-bit floats become larger ones while they are loaded.
std::string Engine::quantized_tensor() const {
    for (const ModelTable * table : {&*diffusion_table_, &*text_table_}) {
        for (const auto & [name, tensor] : table->tensors()) {
            if (tensor.quant != nullptr) {
                if (!is_float8(tensor.quant->format))
                    return name + " is " + quant_format_name(tensor.quant->format);
                continue;
            }
            const ggml_type type = options_.types.target_type(*tensor.info);
            if (ggml_is_quantized(type)) return name + " is " + ggml_type_name(type);
        }
    }
    return {};
}

// One decision for all parts.
bool Engine::merges_adapters() const {
    if (options_.adapter_mode == AdapterMode::at_runtime) return false;
    const std::string quantized = quantized_tensor();
    if (quantized.empty()) return true;
    if (options_.adapter_mode == AdapterMode::immediately) {
        log_warn("adapters are applied at run time, not immediately: " + quantized +
                 ", and quantizing the sum again would lose what they change");
    }
    return false;
}

Weights::Options Engine::adapted_options(AdapterPart part, const Callbacks & callbacks, const char * what) {
    const Module module = part == AdapterPart::diffusion ? Module::diffusion : Module::text;
    Weights::Options o = weight_options(module, callbacks, what);
    o.changes = &changes_[size_t(part)];
    o.merge = merge_;
    return o;
}

// Everything about adapters is checked before a generation begins. Parts that are loaded with other ones are
// given up: whatever was in them may hold the old changes.
void Engine::use_adapters(const std::vector<AdapterUse> & given) {
    const std::vector<AdapterUse> uses = combined(given);
    const std::string now = fingerprint(uses);
    if (now == adapters_ && text_ != nullptr && diffusion_ != nullptr) return;
    const AdapterTargets targets(*diffusion_table_, *text_table_);
    changes_ = read_adapters(uses, targets);
    merge_ = !uses.empty() && merges_adapters();
    if (now == adapters_) return;
    text_.reset();
    diffusion_.reset();
    adapters_ = now;
}

} // namespace sd
