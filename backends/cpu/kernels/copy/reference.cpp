// The scalar specification of copies: element by element, in ggml's order, whatever the layouts.
#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "backends/cpu/kernels/copy/element.h"
#include "runtime/tensor/blocks.h"
#include "runtime/tensor/types.h"

#include <cstring>

namespace ggml::cpu {
namespace {

// Address of the unit (element or block) that holds the flat-th element.
size_t unit_offset(const ggml_tensor * t, int64_t flat) {
    int64_t i0, i1, i2, i3;
    ggml_unravel_index(t, flat, &i0, &i1, &i2, &i3);
    return size_t(i0 / type_info(t->type).block) * t->nb[0] + row_offset(t, {i1, i2, i3});
}

void copy_units_in_order(const ggml_tensor * src, ggml_tensor * dst) {
    const TypeInfo & info = type_info(src->type);
    for (int64_t i = 0; i < ggml_nelements(src); i += info.block) {
        std::memmove(row_at<char>(dst, unit_offset(dst, i)), row_at<char>(src, unit_offset(src, i)),
                     info.bytes);
    }
}

void convert_in_order(const ggml_tensor * src, ggml_tensor * dst) {
    const ElementConvert convert = element_converter(src->type, dst->type);
    for (int64_t i = 0; i < ggml_nelements(src); ++i) {
        convert(row_at<char>(src, unit_offset(src, i)), row_at<char>(dst, unit_offset(dst, i)));
    }
}

// Every block on its own: read or gather its elements as floats, write or scatter them.
void dequantize_in_order(const ggml_tensor * src, ggml_tensor * dst) {
    const TypeInfo & info = type_info(src->type);
    const ElementConvert convert = element_converter(GGML_TYPE_F32, dst->type);
    float values[kSuperBlock];
    for (int64_t i = 0; i < ggml_nelements(src); i += info.block) {
        info.to_float(row_at<char>(src, unit_offset(src, i)), values, info.block);
        for (int64_t j = 0; j < info.block; ++j)
            convert(values + j, row_at<char>(dst, unit_offset(dst, i + j)));
    }
}

void quantize_in_order(const ggml_tensor * src, ggml_tensor * dst) {
    const TypeInfo & info = type_info(dst->type);
    const ElementConvert convert = element_converter(src->type, GGML_TYPE_F32);
    float values[kSuperBlock];
    for (int64_t i = 0; i < ggml_nelements(dst); i += info.block) {
        for (int64_t j = 0; j < info.block; ++j)
            convert(row_at<char>(src, unit_offset(src, i + j)), values + j);
        info.from_float(values, row_at<char>(dst, unit_offset(dst, i)), info.block);
    }
}

// Shapes are equal, so both rows are whole blocks of both types; 256 elements are whole blocks of every type.
void requantize_in_order(const ggml_tensor * src, ggml_tensor * dst) {
    float values[kSuperBlock];
    for (int64_t row = 0; row < ggml_nrows(src); ++row) {
        for (int64_t i = 0; i < src->ne[0]; i += kSuperBlock) {
            const int64_t flat = row * src->ne[0] + i;
            const int64_t n = src->ne[0] - i < kSuperBlock ? src->ne[0] - i : kSuperBlock;
            type_info(src->type).to_float(row_at<char>(src, unit_offset(src, flat)), values, n);
            type_info(dst->type).from_float(values, row_at<char>(dst, unit_offset(dst, flat)), n);
        }
    }
}

} // namespace

void copy_tensor_reference(const ggml_tensor * src, ggml_tensor * dst) {
    if (ggml_is_empty(dst)) return;
    const bool from_blocks = type_info(src->type).quantized, to_blocks = type_info(dst->type).quantized;
    if (src->type == dst->type) {
        copy_units_in_order(src, dst);
    } else if (!from_blocks && !to_blocks) {
        convert_in_order(src, dst);
    } else if (!to_blocks) {
        dequantize_in_order(src, dst);
    } else if (!from_blocks) {
        quantize_in_order(src, dst);
    } else {
        requantize_in_order(src, dst);
    }
}

} // namespace ggml::cpu
