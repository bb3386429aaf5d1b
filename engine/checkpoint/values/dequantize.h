// Quantized modules as float weights in the unrotated basis. Readable rather than fast: for modules that ask
// for float products, for formats without an operator, for token tables, and as the reference of the rest.
#pragma once

#include "checkpoint/comfy_quant/quant_module.h"
#include "checkpoint/values/read_values.h"

#include <array>
#include <vector>

namespace sd {

// The sixteen levels of an asym_w4a8_int8 module: its codebook, or -8 to 7 where it has none.
std::array<float, 16> codebook_values(const Checkpoint & checkpoint, const QuantModule & module);

// An Error (E_SCALE_VALUE) for a NaN or an infinity in a scale or codebook. Reads all of them, a part at a
// time. For whoever hands the stored bytes to operators; Dequantizer checks what it uses.
void check_scale_values(const Checkpoint & checkpoint, const QuantModule & module);

// Row scales and codebook are read and checked once; weights when they are asked for. Both arguments must
// live longer. const functions may be called from several threads.
class Dequantizer {
  public:
    Dequantizer(const Checkpoint & checkpoint, const QuantModule & module);

    int64_t rows() const { return module_.n; }
    // k for matrices; for convolutions the kernel's elements too, in the order of the file.
    int64_t row_length() const { return row_length_; }

    // Rows [first, first + count), float32; a table's row of a token is read(id, 1, out).
    void read(int64_t first, int64_t count, float * out) const;

  private:
    void unpack(int64_t first, int64_t count, float * out) const;
    void apply_relative(int64_t first, int64_t count, float * out) const;
    void rotate(float * row) const;

    const Checkpoint & checkpoint_;
    const QuantModule & module_;
    int64_t row_length_;
    std::vector<float> row_scale_; // one for each row, or one for all
    std::array<float, 16> levels_{};
};

// All of a module as `target` (is_float_target), in parallel. `out` as for read_values.
void read_dequantized(const Checkpoint & checkpoint, const QuantModule & module, ggml_type target, void * out,
                      const ParallelOptions & options = {});

} // namespace sd
