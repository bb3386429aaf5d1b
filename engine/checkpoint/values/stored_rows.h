// Rows of a tensor as one array of elements, whatever the strides they are stored with.
#pragma once

#include "checkpoint/values/read_values.h"

#include <cstddef>
#include <vector>

namespace sd {

class StoredRows {
  public:
    // Reads nothing of a contiguous tensor; of one with strides what the rows span. Both arguments must live
    // longer.
    StoredRows(const Checkpoint & checkpoint, const TensorInfo & tensor, RowRange rows);

    int64_t elements() const { return elements_; }

    // Elements [begin, begin + n) of the rows, whole blocks. From several threads.
    void read(int64_t begin, int64_t n, std::byte * out) const;

  private:
    int64_t place(int64_t row) const; // of a row's first element, in elements from the tensor's first byte
    void read_span();
    void gather(int64_t begin, int64_t n, std::byte * out) const;

    const Checkpoint & checkpoint_;
    const TensorInfo & tensor_;
    int64_t first_row_ = 0;
    int64_t elements_ = 0;
    // With strides only: elements from span_begin_ on.
    std::vector<std::byte> span_;
    int64_t span_begin_ = 0;
};

} // namespace sd
