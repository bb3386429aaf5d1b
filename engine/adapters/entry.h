// The tensors an adapter file has for one target, and what they come to.
#pragma once

#include "adapters/change.h"
#include "adapters/keys.h"
#include "adapters/targets.h"
#include "checkpoint/checkpoint.h"

#include <map>

namespace sd {

using AdapterTensors = std::map<AdapterRole, const TensorInfo *>;

// Whether there is more than alpha and scale.
bool has_factors(const AdapterTensors & tensors);

// `name`: the module, for messages. n, k: of all targets of a fused one together. Without the strength.
// Throws Error (E_ADAPTER) that names the tensor: one that is missing, shapes or ranks that do not fit, types
// that are no floats, values that are not finite, an alpha or scale of 0.
Change read_change(const Checkpoint & file, const AdapterTensors & tensors, const std::string & name,
                   int64_t n, int64_t k);

// A difference of a bias or a table, with as many elements.
Change read_difference(const Checkpoint & file, const TensorInfo & tensor, int64_t n, int64_t k);

// Rows [first, first + count) of a change.
Change rows_of(const Change & change, int64_t first, int64_t count, int64_t k);

} // namespace sd
