// Row indexes come from tensors, that is from strangers: they are checked before anything is written, and a
// bad one fails the node with its name and value.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace ggml::cpu {

// Index at (i0, i1, i2) of an I32 or I64 tensor.
int64_t index_at(const ggml_tensor * indexes, int64_t i0, int64_t i1, int64_t i2);

// True when all indexes are in [0, n_rows). Otherwise logs the first bad one and returns false.
bool check_indexes(const ggml_tensor * node, const ggml_tensor * indexes, int64_t n_rows);

} // namespace ggml::cpu
