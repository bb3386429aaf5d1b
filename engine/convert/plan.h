// Which tensors a converted file gets, in which order and as which types.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "checkpoint/type_rules.h"

#include <set>
#include <string>
#include <vector>

namespace sd {

struct PlannedTensor {
    std::string name; // in the new file
    const TensorInfo * source;
    const QuantModule * module; // the scaled layer whose weights these are; NULL: the source's own values
    StoredType type;
    uint64_t bytes = 0; // contiguous, of `type` and the source's shape
};

struct ConvertPlan {
    std::vector<PlannedTensor> tensors;
    std::set<std::string> plain; // quantized modules that become plain weights, by the table's names
    bool renamed;                // names are those of the table, because components are merged
};

// `type` as TypeRules::parse had it. Tensors are in the order of the files, so that an unchanged file comes
// out as it was; in changed safetensors files that this order would leave misaligned, larger elements come
// first. Of scaled layers in `plain`, by the table's names, what belongs to their scales is left out whatever
// the rules say: they become F32, or something else that the caller makes of them. Throws Error for what the
// container cannot hold.
ConvertPlan plan_conversion(const Checkpoint & checkpoint, const QuantModules & quants,
                            const TypeRules & rules, const std::string & type, ContainerKind output,
                            const std::set<std::string> & plain = {});

} // namespace sd
