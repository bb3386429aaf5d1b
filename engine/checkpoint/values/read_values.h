// Values of a checkpoint's tensors, as they are stored or as another type, by rows and with bounded memory:
// each thread keeps about two megabytes, whatever the tensor. Tensors with strides (PyTorch files) are the
// exception: what their rows span is in memory once.
//
// A row is a run of the innermost dimension; rows are counted over all others. A scalar is one row of one.
// Functions throw Error: the file became shorter, values do not fit the type, rows outside the tensor,
// cancel. Nothing of `out` is of use then. Progress counts bytes of `out`.
#pragma once

#include "base/parallel.h"
#include "checkpoint/checkpoint.h"

namespace sd {

int64_t row_length(const TensorInfo & tensor); // elements
int64_t row_count(const TensorInfo & tensor);

struct RowRange {
    int64_t begin = 0;
    int64_t count = -1; // -1: to the last
};

// The stored elements, one after the other.
void read_stored(const Checkpoint & checkpoint, const TensorInfo & tensor, RowRange rows, void * out,
                 const ParallelOptions & options = {});

// As `target`: the stored type itself, a float type or ggml blocks (is_float_target) from any type, or I32
// from integers that fit. `out` has ggml_row_size(target, row_length) bytes for each row and the alignment
// of malloc.
void read_values(const Checkpoint & checkpoint, const TensorInfo & tensor, ggml_type target, RowRange rows,
                 void * out, const ParallelOptions & options = {});

// A whole small tensor as floats.
std::vector<float> read_floats(const Checkpoint & checkpoint, const TensorInfo & tensor);

// What tensors become when nobody asks for a type: the stored type where ggml has it; F16 for the F8 types,
// F32 for F64 and F8_E8M0, I32 for other integers.
ggml_type natural_type(StoredType type);

} // namespace sd
