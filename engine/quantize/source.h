// The values of a layer before it is quantized.
#pragma once

#include "checkpoint/values/dequantize.h"
#include "quantize/encode.h"
#include "quantize/selection.h"

#include <cstdint>
#include <mutex>
#include <optional>

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

} // namespace sd
