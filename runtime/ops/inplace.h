// Which operators may write their result over a source.
#pragma once

#include "ggml.h"

namespace ggml {

// True when kernels of this operator give the right result if dst is src[0], or another source of exactly
// dst's shape and strides that is read element by element, at the same address.
bool op_can_inplace(ggml_op op);

} // namespace ggml
