// What a new file is made of: the values of layers before they are quantized, and the bytes of copies. Both
// with what adapters change.
#pragma once

#include "checkpoint/values/dequantize.h"
#include "quantize/encode.h"
#include "quantize/plan.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace sd {

// Opened when it is first read, as scales of all layers together are many. The arguments must live longer.
class LayerSource {
  public:
    LayerSource(const Checkpoint & checkpoint, const ChosenLayer & layer)
        : checkpoint_(checkpoint), layer_(layer) {}

    // Rows that are read at once: about a million values. Of tensors with strides all, because what a few
    // rows span can be everything.
    int64_t piece_rows() const;

    // Rows [first, first + count), float32, from any thread.
    void read(int64_t first, int64_t count, float * out);

    // The Error about a row that cannot be encoded; rows are counted from `first` on.
    [[noreturn]] void refuse(int64_t first, const BadRow & bad) const;

  private:
    const Checkpoint & checkpoint_;
    const ChosenLayer & layer_;
    std::once_flag opened_;
    std::optional<Dequantizer> dequantizer_;
};

// Elements of a copy that are read at once. Of tensors with strides all, see above; of changed ones whole
// rows.
int64_t copy_piece(const CopyPlan & copy);

// Elements [first, first + count) of a copy, in whole pieces, as the new file has them. scratch: memory to
// use.
void read_copy(const Checkpoint & checkpoint, const CopyPlan & copy, int64_t first, int64_t count,
               std::vector<float> & scratch, std::byte * out);

// The same of a stored tensor; without strides, or all of them.
void read_elements(const Checkpoint & checkpoint, const TensorInfo & tensor, int64_t first, int64_t count,
                   std::byte * out);

} // namespace sd
