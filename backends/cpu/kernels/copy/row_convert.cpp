#include "backends/cpu/kernels/copy/row_convert.h"

#include "backends/cpu/convert.h"
#include "backends/cpu/kernels/copy/element.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ggml::cpu {
namespace {

template <class S, class D>
void convert_one(const void * src, void * dst) {
    store_element(dst, convert_element<D>(load_element<S>(src)));
}

// Pairs of 16-bit float formats go through floats in pieces that stay in the first cache level.
template <class ToFloatRow, class FromFloatRow>
void through_floats(const char * src, char * dst, int64_t n, ToFloatRow to_float, FromFloatRow from_float) {
    constexpr int64_t kPiece = 512;
    float piece[kPiece];
    for (int64_t i = 0; i < n; i += kPiece) {
        const int64_t m = std::min(kPiece, n - i);
        to_float(reinterpret_cast<const uint16_t *>(src) + i, piece, m);
        from_float(piece, reinterpret_cast<uint16_t *>(dst) + i, m);
    }
}

// Contiguous runs between the float formats that have vector code. False: not such a pair.
template <class S, class D>
bool convert_fast(const char * src, char * dst, int64_t n) {
    const auto * bits = reinterpret_cast<const uint16_t *>(src);
    const auto * floats = reinterpret_cast<const float *>(src);
    constexpr bool kFromFloat = std::is_same_v<S, float>, kToFloat = std::is_same_v<D, float>;
    if constexpr (std::is_same_v<S, Half> && kToFloat) {
        half_to_float_row(bits, reinterpret_cast<float *>(dst), n);
    } else if constexpr (kFromFloat && std::is_same_v<D, Half>) {
        float_to_half_row(floats, reinterpret_cast<uint16_t *>(dst), n);
    } else if constexpr (std::is_same_v<S, BFloat> && kToFloat) {
        bf16_to_float_row(bits, reinterpret_cast<float *>(dst), n);
    } else if constexpr (kFromFloat && std::is_same_v<D, BFloat>) {
        float_to_bf16_row(floats, reinterpret_cast<uint16_t *>(dst), n);
    } else if constexpr (std::is_same_v<S, Half> && std::is_same_v<D, BFloat>) {
        through_floats(src, dst, n, half_to_float_row, float_to_bf16_row);
    } else if constexpr (std::is_same_v<S, BFloat> && std::is_same_v<D, Half>) {
        through_floats(src, dst, n, bf16_to_float_row, float_to_half_row);
    } else {
        return false;
    }
    return true;
}

template <class S, class D>
void convert_run(const char * src, size_t src_stride, char * dst, size_t dst_stride, int64_t n) {
    if constexpr (std::is_same_v<S, D>) {
        move_units(src, src_stride, dst, dst_stride, n, sizeof(S));
    } else {
        if (src_stride == sizeof(S) && dst_stride == sizeof(D)) {
            if (convert_fast<S, D>(src, dst, n)) return;
            // Strides known to the compiler let it vectorize.
            for (int64_t i = 0; i < n; ++i)
                convert_one<S, D>(src + i * int64_t(sizeof(S)), dst + i * int64_t(sizeof(D)));
            return;
        }
        for (int64_t i = 0; i < n; ++i)
            convert_one<S, D>(src + size_t(i) * src_stride, dst + size_t(i) * dst_stride);
    }
}

struct Entry {
    ElementConvert element = nullptr;
    RowConvert row = nullptr;
};
using Table = std::array<Entry, size_t(kPlainTypes * kPlainTypes)>;

template <size_t... I>
constexpr Table make_table(std::index_sequence<I...>) {
    return {Entry{convert_one<std::tuple_element_t<I / kPlainTypes, PlainTypes>,
                              std::tuple_element_t<I % kPlainTypes, PlainTypes>>,
                  convert_run<std::tuple_element_t<I / kPlainTypes, PlainTypes>,
                              std::tuple_element_t<I % kPlainTypes, PlainTypes>>}...};
}

constexpr Table kTable = make_table(std::make_index_sequence<size_t(kPlainTypes * kPlainTypes)>());

Entry find_entry(ggml_type src, ggml_type dst) {
    const int s = plain_index(src), d = plain_index(dst);
    return s < 0 || d < 0 ? Entry{} : kTable[size_t(s * kPlainTypes + d)];
}

template <size_t kUnit>
void move_fixed(const char * src, size_t src_stride, char * dst, size_t dst_stride, int64_t n) {
    // Through a local: src and dst may be the same address, which memcpy does not allow.
    struct Unit {
        char bytes[kUnit];
    };
    for (int64_t i = 0; i < n; ++i) {
        store_element(dst + size_t(i) * dst_stride, load_element<Unit>(src + size_t(i) * src_stride));
    }
}

} // namespace

void move_units(const char * src, size_t src_stride, char * dst, size_t dst_stride, int64_t n, size_t unit) {
    if (n <= 0) return;
    if (src_stride == unit && dst_stride == unit) {
        std::memmove(dst, src, size_t(n) * unit);
        return;
    }
    switch (unit) {
    case 1: return move_fixed<1>(src, src_stride, dst, dst_stride, n);
    case 2: return move_fixed<2>(src, src_stride, dst, dst_stride, n);
    case 4: return move_fixed<4>(src, src_stride, dst, dst_stride, n);
    case 8: return move_fixed<8>(src, src_stride, dst, dst_stride, n);
    default:
        for (int64_t i = 0; i < n; ++i) {
            std::memmove(dst + size_t(i) * dst_stride, src + size_t(i) * src_stride, unit);
        }
    }
}

ElementConvert element_converter(ggml_type src, ggml_type dst) { return find_entry(src, dst).element; }

RowConvert row_converter(ggml_type src, ggml_type dst) { return find_entry(src, dst).row; }

bool find_mover(ggml_type src, ggml_type dst, RowMover & mover) {
    mover = {type_info(src).bytes, type_info(dst).bytes, nullptr};
    if (src == dst) return mover.src_unit != 0;
    mover.convert = row_converter(src, dst);
    return mover.convert != nullptr;
}

} // namespace ggml::cpu
