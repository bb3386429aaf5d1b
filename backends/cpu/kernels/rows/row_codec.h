// Converts whole rows between any two types of which at most one is quantized.
#pragma once

#include "backends/cpu/kernels/copy/row_convert.h"
#include "runtime/tensor/types.h"

namespace ggml::cpu {

class RowCodec {
  public:
    // False when there is no conversion. Rows of quantized types are contiguous; plain ones have any stride.
    [[nodiscard]] static bool find(const ggml_tensor * src, const ggml_tensor * dst, RowCodec & codec);

    // One row of n elements.
    void convert(const char * src, char * dst, int64_t n) const;

  private:
    void quantize(const char * src, char * dst, int64_t n) const;
    void dequantize(const char * src, char * dst, int64_t n) const;

    const TypeInfo * src_ = nullptr;
    const TypeInfo * dst_ = nullptr;
    size_t src_stride_ = 0, dst_stride_ = 0;
    RowMover mover_; // between the plain type and F32 when one side is quantized
    bool floats_direct_ = false;
};

} // namespace ggml::cpu
