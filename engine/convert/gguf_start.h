// The beginning of a GGUF file: everything before the data.
#pragma once

#include "convert/gguf_pairs.h"
#include "convert/plan.h"

#include <string>
#include <vector>

namespace sd {

// Header, pairs with original shapes added, and tensor records, padded to the pairs' alignment. Tensors lie
// in their order, each padded to the alignment; `data_bytes` is what they take in all. Throws Error without a
// file name when that is larger than any file.
std::string gguf_start(const std::vector<PlannedTensor> & tensors, GgufPairs & pairs, uint64_t & data_bytes);

// The shape a tensor has in a GGUF file, PyTorch order: one to four dimensions, rows of whole blocks.
std::vector<int64_t> gguf_shape(const std::vector<int64_t> & shape, StoredType type);

// What GGUF files call the type most of their weights have (general.file_type), if there is a number for it.
std::optional<uint32_t> gguf_file_type(const std::vector<PlannedTensor> & tensors);

} // namespace sd
