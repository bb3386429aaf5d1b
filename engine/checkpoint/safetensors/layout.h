// Where the tensors of a safetensors file lie: inside its data and apart from each other.
#pragma once

#include "checkpoint/tensor_info.h"

#include <string>
#include <vector>

namespace sd {

// Offsets of the tensors count from `data_begin`, the end of the header, which is within the file; afterwards
// from the start of the file. Throws Error without a file name. Warnings are added.
void place_tensors(std::vector<TensorInfo> & tensors, uint64_t data_begin, uint64_t file_bytes,
                   std::vector<std::string> & warnings);

} // namespace sd
