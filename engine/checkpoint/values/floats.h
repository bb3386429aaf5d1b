// Stored elements to float and back, for runs of whole blocks.
#pragma once

#include "checkpoint/tensor_info.h"

#include <cstddef>
#include <string>

namespace sd {

// Elements that are decoded together: 1 for plain types.
int64_t block_elements(StoredType type);
// Bytes of n elements, whole blocks.
size_t run_bytes(StoredType type, int64_t n);

// n elements of any type, whole blocks; `bytes` needs no alignment for plain types and that of malloc for
// blocks. Integers and doubles are rounded to nearest; booleans are 0 or 1.
void to_floats(StoredType type, const std::byte * bytes, int64_t n, float * out);

// Whether from_floats can write the type: F32, F16, BF16, and ggml's blocks that need no importance matrix.
bool is_float_target(ggml_type type);

// n floats, whole blocks. What the type cannot hold is refused, because it would come out as an infinity or
// as noise: a finite value beyond its range, and for blocks NaN and infinity. Returns the reason, empty when
// all is well.
std::string from_floats(const float * in, int64_t n, ggml_type type, void * out);

} // namespace sd
