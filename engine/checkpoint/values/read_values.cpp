#include "checkpoint/values/read_values.h"

#include "checkpoint/values/floats.h"
#include "checkpoint/values/stored_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sd {
namespace {

// Elements that are converted at a time: a multiple of every block.
constexpr int64_t kPart = int64_t(1) << 18;

// Integers of any kind as I32; false where one does not fit.
template <class T>
bool narrow(const std::byte * bytes, int64_t n, int32_t * out) {
    for (int64_t i = 0; i < n; ++i) {
        T value;
        std::memcpy(&value, bytes + size_t(i) * sizeof(T), sizeof(T));
        if (!std::in_range<int32_t>(value)) return false;
        out[i] = int32_t(value);
    }
    return true;
}

bool to_i32(StoredType type, const std::byte * bytes, int64_t n, int32_t * out) {
    switch (type) {
    case StoredType::i8: return narrow<int8_t>(bytes, n, out);
    case StoredType::i16: return narrow<int16_t>(bytes, n, out);
    case StoredType::i64: return narrow<int64_t>(bytes, n, out);
    case StoredType::u16: return narrow<uint16_t>(bytes, n, out);
    case StoredType::u32: return narrow<uint32_t>(bytes, n, out);
    case StoredType::u64: return narrow<uint64_t>(bytes, n, out);
    default: return narrow<uint8_t>(bytes, n, out); // U8, boolean
    }
}

// Converts `n` elements at `bytes`; the reason why it cannot, or nothing.
std::string convert(StoredType type, const std::byte * bytes, int64_t n, ggml_type target, std::byte * out) {
    if (target == GGML_TYPE_I32)
        return to_i32(type, bytes, n, reinterpret_cast<int32_t *>(out)) ? "" : "an integer does not fit I32";
    if (target == GGML_TYPE_F32) {
        to_floats(type, bytes, n, reinterpret_cast<float *>(out));
        return {};
    }
    std::vector<float> floats(static_cast<size_t>(n));
    to_floats(type, bytes, n, floats.data());
    return from_floats(floats.data(), n, target, out);
}

// Why the type cannot become the target, or nothing.
std::string refusal(const TensorInfo & tensor, ggml_type target) {
    const std::string from = type_name(tensor.type), to = ggml_type_name(target);
    if (target == GGML_TYPE_I32) return is_integer(tensor.type) ? "" : from + " is not converted to i32";
    if (!is_float_target(target)) return from + " is not converted to " + to;
    const int64_t block = block_elements(stored_type(target));
    if (row_length(tensor) % block == 0) return {};
    return "rows of " + std::to_string(row_length(tensor)) + " values are no whole blocks of " + to + ", " +
           std::to_string(block) + " values each";
}

} // namespace

int64_t row_length(const TensorInfo & tensor) { return tensor.shape.empty() ? 1 : tensor.shape.back(); }

int64_t row_count(const TensorInfo & tensor) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) rows *= tensor.shape[i];
    return rows;
}

void read_stored(const Checkpoint & checkpoint, const TensorInfo & tensor, RowRange rows, void * out,
                 const ParallelOptions & options) {
    const StoredRows source(checkpoint, tensor, rows);
    parallel_parts((source.elements() + kPart - 1) / kPart, options, [&](int64_t part) {
        const int64_t begin = part * kPart, n = std::min(kPart, source.elements() - begin);
        source.read(begin, n, static_cast<std::byte *>(out) + run_bytes(tensor.type, begin));
        return uint64_t(run_bytes(tensor.type, n));
    });
}

void read_values(const Checkpoint & checkpoint, const TensorInfo & tensor, ggml_type target, RowRange rows,
                 void * out, const ParallelOptions & options) {
    if (ggml_type_of(tensor.type) == target) return read_stored(checkpoint, tensor, rows, out, options);
    if (const std::string reason = refusal(tensor, target); !reason.empty())
        throw checkpoint.error(tensor, "E_TYPE", reason);
    const StoredRows source(checkpoint, tensor, rows);
    const StoredType wanted = stored_type(target);
    parallel_parts((source.elements() + kPart - 1) / kPart, options, [&](int64_t part) {
        const int64_t begin = part * kPart, n = std::min(kPart, source.elements() - begin);
        std::vector<std::byte> bytes(run_bytes(tensor.type, n));
        source.read(begin, n, bytes.data());
        const std::string reason = convert(tensor.type, bytes.data(), n, target,
                                           static_cast<std::byte *>(out) + run_bytes(wanted, begin));
        if (!reason.empty()) throw checkpoint.error(tensor, "E_VALUE", reason);
        return uint64_t(run_bytes(wanted, n));
    });
}

std::vector<float> read_floats(const Checkpoint & checkpoint, const TensorInfo & tensor) {
    std::vector<float> values(size_t(tensor.elements()));
    read_values(checkpoint, tensor, GGML_TYPE_F32, {}, values.data(), {.threads = 1});
    return values;
}

ggml_type natural_type(StoredType type) {
    if (const std::optional<ggml_type> same = ggml_type_of(type); same && *same != GGML_TYPE_I64) {
        return *same == GGML_TYPE_F64 ? GGML_TYPE_F32 : *same;
    }
    if (type == StoredType::f8_e4m3 || type == StoredType::f8_e5m2) return GGML_TYPE_F16;
    return type == StoredType::f8_e8m0 ? GGML_TYPE_F32 : GGML_TYPE_I32;
}

} // namespace sd
