// Contents of operands.
#pragma once

#include "ggml.h"

namespace op_bench {

// A contiguous tensor with host storage. Floats are uniform in [-1, 1), quantized ones are such floats
// quantized, bytes are uniform; other integers are zero. Long tensors repeat themselves, which no arithmetic
// notices. The same for the same type and size in every run.
void fill_random(ggml_tensor * t);

} // namespace op_bench
