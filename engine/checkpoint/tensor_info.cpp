#include "checkpoint/tensor_info.h"

#include <limits>

namespace sd {
namespace {

struct Extra {
    StoredType type;
    const char * name;
    uint64_t bytes;
};

// Types ggml does not have, and the containers' spelling of those it has.
constexpr Extra kPlain[] = {
    {StoredType::f64, "F64", 8},         {StoredType::f32, "F32", 4},
    {StoredType::f16, "F16", 2},         {StoredType::bf16, "BF16", 2},
    {StoredType::f8_e4m3, "F8_E4M3", 1}, {StoredType::f8_e5m2, "F8_E5M2", 1},
    {StoredType::f8_e8m0, "F8_E8M0", 1}, {StoredType::i64, "I64", 8},
    {StoredType::i32, "I32", 4},         {StoredType::i16, "I16", 2},
    {StoredType::i8, "I8", 1},           {StoredType::u64, "U64", 8},
    {StoredType::u32, "U32", 4},         {StoredType::u16, "U16", 2},
    {StoredType::u8, "U8", 1},           {StoredType::boolean, "BOOL", 1},
};

const Extra * plain(StoredType type) {
    for (const Extra & e : kPlain) {
        if (e.type == type) return &e;
    }
    return nullptr;
}

} // namespace

const char * type_name(StoredType type) {
    if (const Extra * e = plain(type)) return e->name;
    return ggml_type_name(ggml_type(type));
}

std::optional<ggml_type> ggml_type_of(StoredType type) {
    if (int(type) >= int(StoredType::u8)) return std::nullopt;
    return ggml_type(type);
}

StoredType stored_type(ggml_type type) { return StoredType(int(type)); }

bool is_float(StoredType type) {
    switch (type) {
    case StoredType::f64:
    case StoredType::f32:
    case StoredType::f16:
    case StoredType::bf16:
    case StoredType::f8_e4m3:
    case StoredType::f8_e5m2: return true;
    default: return false;
    }
}

bool is_integer(StoredType type) {
    return plain(type) != nullptr && !is_float(type) && type != StoredType::f8_e8m0;
}

bool is_blocks(StoredType type) { return plain(type) == nullptr; }

int64_t TensorInfo::elements() const {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return n;
}

std::string shape_text(const std::vector<int64_t> & shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    return text + "]";
}

std::optional<uint64_t> tensor_bytes(StoredType type, const std::vector<int64_t> & shape) {
    uint64_t block = 1, unit = 0;
    if (const Extra * e = plain(type)) {
        unit = e->bytes;
    } else {
        block = uint64_t(ggml_blck_size(ggml_type(type)));
        unit = ggml_type_size(ggml_type(type));
    }
    constexpr uint64_t kMost = uint64_t(std::numeric_limits<int64_t>::max());
    // Elements must fit by themselves, even when another dimension is 0: callers multiply parts of a shape.
    uint64_t elements = 1;
    bool empty = false;
    for (const int64_t d : shape) {
        if (d < 0) return std::nullopt;
        empty = empty || d == 0;
        if (d != 0 && elements > kMost / uint64_t(d)) return std::nullopt;
        if (d != 0) elements *= uint64_t(d);
    }
    if (block > 1 && (shape.empty() || uint64_t(shape.back()) % block != 0)) return std::nullopt;
    if (elements / block > kMost / unit) return std::nullopt;
    return empty ? 0 : elements / block * unit;
}

} // namespace sd
