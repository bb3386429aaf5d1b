// The data of a converted file: read, converted and written a piece at a time, by several threads.
#pragma once

#include "base/output_file.h"
#include "convert/plan.h"

#include <cstdint>
#include <functional>

namespace sd {

struct PiecesOptions {
    uint64_t alignment = 1; // every tensor is padded with zeros to a multiple of it
    int threads = 0;
    std::function<bool(const char * what, uint64_t done, uint64_t total)> progress; // see ConvertRequest
};

// Appends the data of all tensors in their order. What is wrong with the first of several wrong tensors is
// what the Error says, whatever the threads.
void write_pieces(const Checkpoint & checkpoint, const std::vector<PlannedTensor> & tensors,
                  const PiecesOptions & options, OutputFile & out);

} // namespace sd
