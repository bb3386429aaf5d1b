// The bytes of described tensors, from files into the memory of a device: in parallel, and with at most a few
// megabytes for each thread between the two.
#pragma once

#include "base/parallel.h"
#include "checkpoint/checkpoint.h"

#include <functional>
#include <vector>

namespace sd {

struct LoadJob {
    ggml_tensor * tensor; // has its place in a buffer
    // Not NULL: the tensor's bytes are those of this one in its file, which has no strides.
    const TensorInfo * same = nullptr;
    // Otherwise: writes all of the tensor's bytes. They are in the host's memory once when the buffer is not.
    std::function<void(void * out, const ParallelOptions & options)> fill;
};

// Progress counts bytes of the tensors, and reaches their sum. Throws Error; what the tensors hold is of no
// use then.
void load_tensors(const Checkpoint & checkpoint, const std::vector<LoadJob> & jobs,
                  const ParallelOptions & options);

} // namespace sd
