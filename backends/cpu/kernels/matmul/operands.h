// What the products of this room work on: a matrix of weights, rows of activations, and slices of scratch
// memory.
#pragma once

#include "ggml.h"
#include "runtime/base/math.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ggml::cpu::matmul {

// One matrix of src0: `rows` rows (results) of `cols` elements.
struct Weights {
    ggml_type type;
    const char * data;
    size_t row_stride;  // bytes
    size_t elem_stride; // bytes; the type's size, except for plain types with a permuted layout
    int64_t rows, cols;

    const char * row(int64_t n) const { return data + size_t(n) * row_stride; }
};

// Matrix (i2, i3) of a tensor.
inline Weights weights_of(const ggml_tensor * t, int64_t i2, int64_t i3) {
    const char * data = static_cast<const char *>(t->data) + size_t(i2) * t->nb[2] + size_t(i3) * t->nb[3];
    return {t->type, data, t->nb[1], t->nb[0], t->ne[1], t->ne[0]};
}

// One row of activations and where its results go (contiguous floats).
struct RowPair {
    const char * x;
    float * y;
};

// How a row of activations is stored: F32, F16 or BF16, with any distance between elements.
struct RowFormat {
    ggml_type type;
    size_t elem_stride;

    bool plain_floats() const { return type == GGML_TYPE_F32 && elem_stride == sizeof(float); }
};

// Elements [first, first + n) of a row as floats. Quantized types: contiguous, first and n multiples of the
// block.
void read_floats(ggml_type type, size_t elem_stride, const char * row, int64_t first, int64_t n, float * out);

inline bool is_plain_float(ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

// Cuts scratch memory into 64-byte aligned slices. The size computed by `slice_bytes` for each is what it
// takes.
constexpr size_t slice_bytes(size_t bytes) { return saturating_align_up(bytes, 64); }
class Scratch {
  public:
    explicit Scratch(std::span<std::byte> memory) : next_(memory.data()), left_(memory.size()) {}

    // Null when the memory is used up, which means that a scratch function is wrong.
    template <class T>
    T * take(size_t count) {
        const size_t bytes = slice_bytes(count * sizeof(T));
        if (bytes > left_) return nullptr;
        T * slice = reinterpret_cast<T *>(next_);
        next_ += bytes;
        left_ -= bytes;
        return slice;
    }
    std::span<std::byte> rest() const { return {next_, left_}; }

  private:
    std::byte * next_;
    size_t left_;
};

} // namespace ggml::cpu::matmul
