// Moving a run of elements from one place and plain type to another. Results equal convert_element's, bit for
// bit. Runs may start at any address a C object of that type may have, with any stride in bytes.
#pragma once

#include "ggml.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu {

using RowConvert = void (*)(const char * src, size_t src_stride, char * dst, size_t dst_stride, int64_t n);

// Null when a type is not plain.
RowConvert row_converter(ggml_type src, ggml_type dst);

// Runs of `unit` bytes each, moved unchanged. Source and destination may be the same memory.
void move_units(const char * src, size_t src_stride, char * dst, size_t dst_stride, int64_t n, size_t unit);

// The way from one type to another: conversion of plain elements, or a plain move of elements or blocks.
struct RowMover {
    size_t src_unit = 0;          // bytes of a source element, or block
    size_t dst_unit = 0;          // likewise
    RowConvert convert = nullptr; // null: types are equal, units are moved

    void move(const char * src, size_t src_stride, char * dst, size_t dst_stride, int64_t n) const {
        if (convert != nullptr) {
            convert(src, src_stride, dst, dst_stride, n);
        } else {
            move_units(src, src_stride, dst, dst_stride, n, src_unit);
        }
    }
};

// True when there is a mover: equal types with known size, or two plain types.
bool find_mover(ggml_type src, ggml_type dst, RowMover & mover);

} // namespace ggml::cpu
