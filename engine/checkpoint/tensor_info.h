// One model of a stored tensor for all containers: what it is called, of which type and shape it is, where
// its bytes are. No bytes.
#pragma once

#include "ggml.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

// Element types as files have them. Values below 1000 are those of ggml_type with the same number.
enum class StoredType : int {
    f32 = GGML_TYPE_F32,
    f16 = GGML_TYPE_F16,
    bf16 = GGML_TYPE_BF16,
    f64 = GGML_TYPE_F64,
    i8 = GGML_TYPE_I8,
    i16 = GGML_TYPE_I16,
    i32 = GGML_TYPE_I32,
    i64 = GGML_TYPE_I64,
    // Types of other containers.
    u8 = 1000,
    u16,
    u32,
    u64,
    boolean, // one byte
    f8_e4m3, // E4M3FN: no infinity, 0x7f and 0xff are NaN
    f8_e5m2,
    f8_e8m0,
};

// "F32", "F8_E4M3", "q4_K": the container's spelling for plain types, ggml's for blocks.
const char * type_name(StoredType type);

// The ggml type with the same bytes, if there is one.
std::optional<ggml_type> ggml_type_of(StoredType type);
StoredType stored_type(ggml_type type);

bool is_float(StoredType type);   // F64, F32, F16, BF16, F8
bool is_integer(StoredType type); // I*, U*, boolean
bool is_blocks(StoredType type);  // ggml's quantized blocks

constexpr int kMaxRank = 8;

struct TensorInfo {
    std::string name;           // as stored
    StoredType type;            //
    std::vector<int64_t> shape; // PyTorch order, outermost first; empty: a scalar. At most kMaxRank entries
    std::vector<int64_t>
        strides;         // in elements, outermost first; empty: contiguous. Only PyTorch files have it
    int file = 0;        // index into the checkpoint's files
    uint64_t offset = 0; // first byte in that file
    uint64_t bytes = 0;  // contiguous: of the tensor; otherwise: from its first to its last element

    int64_t elements() const; // the product of the shape; readers have checked that it fits
};

// "[6144, 256]"
std::string shape_text(const std::vector<int64_t> & shape);

// Bytes of a contiguous tensor; nothing when the product does not fit into 63 bits, a dimension is negative,
// or the innermost dimension is no multiple of the type's block.
std::optional<uint64_t> tensor_bytes(StoredType type, const std::vector<int64_t> & shape);

} // namespace sd
