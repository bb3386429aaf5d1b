// What a file of any container may ask for. Real ones stay far below: a header has some megabytes, most of
// them a vocabulary, and a thousand tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sd {

// Of everything in front of the data. Files may be sparse, so their size is no bound of what they make one
// read.
constexpr uint64_t kMostHeaderBytes = 100'000'000;

// Tensors, and pairs of metadata. The smallest have few bytes in a file and a hundred in memory.
constexpr size_t kMostEntries = size_t(1) << 20;

constexpr size_t kMostNameBytes = 1024;

// Not empty, not longer than the limit, UTF-8 without control characters, not "__metadata__"; or an Error
// without a file name. Names end up on terminals, in logs and in files that are written.
void check_tensor_name(const std::string & name);

} // namespace sd
