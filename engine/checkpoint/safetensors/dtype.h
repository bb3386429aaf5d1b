// The element types of safetensors files by their names there.
#pragma once

#include "checkpoint/tensor_info.h"

#include <string>
#include <string_view>

namespace sd {

// Throws an Error about `tensor` for a name that is unknown, or known and not supported.
StoredType safetensors_dtype(std::string_view name, const std::string & tensor);

// NULL: the container cannot hold this type.
const char * safetensors_dtype_name(StoredType type);

} // namespace sd
