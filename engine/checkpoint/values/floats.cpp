#include "checkpoint/values/floats.h"

#include "checkpoint/values/codecs.h"

#include <cmath>
#include <cstring>

namespace sd {
namespace {

template <class T>
void cast(const std::byte * bytes, int64_t n, float * out) {
    for (int64_t i = 0; i < n; ++i) {
        T value;
        std::memcpy(&value, bytes + size_t(i) * sizeof(T), sizeof(T));
        out[i] = float(value);
    }
}

template <float (*decode)(uint8_t)>
void decode_bytes(const std::byte * bytes, int64_t n, float * out) {
    for (int64_t i = 0; i < n; ++i) out[i] = decode(uint8_t(bytes[i]));
}

float boolean_to_float(uint8_t value) { return value != 0 ? 1.0f : 0.0f; }

template <class T, float (*decode)(T)>
void decode_halves(const std::byte * bytes, int64_t n, float * out) {
    for (int64_t i = 0; i < n; ++i) {
        T value;
        std::memcpy(&value, bytes + size_t(i) * sizeof(T), sizeof(T));
        out[i] = decode(value);
    }
}

// The row functions are faster than one call for each element, but want aligned elements.
void halves_to_floats(StoredType type, const std::byte * bytes, int64_t n, float * out) {
    if (reinterpret_cast<uintptr_t>(bytes) % alignof(uint16_t) != 0) {
        if (type == StoredType::f16) return decode_halves<ggml_fp16_t, ggml_fp16_to_fp32>(bytes, n, out);
        return decode_halves<ggml_bf16_t, ggml_bf16_to_fp32>(bytes, n, out);
    }
    if (type == StoredType::f16)
        return ggml_fp16_to_fp32_row(reinterpret_cast<const ggml_fp16_t *>(bytes), out, n);
    ggml_bf16_to_fp32_row(reinterpret_cast<const ggml_bf16_t *>(bytes), out, n);
}

std::string beyond(float value, ggml_type type) {
    return "the value " + std::to_string(value) + " is beyond the range of " + ggml_type_name(type);
}

// Infinities and NaNs have all bits of the exponent. The loop has no way out, so that it becomes vector code.
template <class Bits>
bool any_not_finite(const void * values, int64_t n, Bits exponent) {
    bool any = false;
    for (int64_t i = 0; i < n; ++i) {
        Bits bits;
        std::memcpy(&bits, static_cast<const std::byte *>(values) + size_t(i) * sizeof(Bits), sizeof(Bits));
        any |= (bits & exponent) == exponent;
    }
    return any;
}

// A finite float that became an infinity.
std::string lost(const float * in, const void * halves, int64_t n, uint16_t exponent, ggml_type type) {
    if (!any_not_finite(halves, n, exponent)) return {};
    for (int64_t i = 0; i < n; ++i) {
        const bool finite = !any_not_finite(static_cast<const uint16_t *>(halves) + i, 1, exponent);
        if (!finite && std::isfinite(in[i])) return beyond(in[i], type);
    }
    return {};
}

} // namespace

int64_t block_elements(StoredType type) { return is_blocks(type) ? ggml_blck_size(ggml_type(type)) : 1; }

size_t run_bytes(StoredType type, int64_t n) { return size_t(*tensor_bytes(type, {n})); }

void to_floats(StoredType type, const std::byte * bytes, int64_t n, float * out) {
    if (n == 0) return; // memcpy takes no null pointers, not even for nothing
    switch (type) {
    case StoredType::f32: std::memcpy(out, bytes, size_t(n) * sizeof(float)); return;
    case StoredType::f16:
    case StoredType::bf16: return halves_to_floats(type, bytes, n, out);
    case StoredType::f64: return cast<double>(bytes, n, out);
    case StoredType::i8: return cast<int8_t>(bytes, n, out);
    case StoredType::i16: return cast<int16_t>(bytes, n, out);
    case StoredType::i32: return cast<int32_t>(bytes, n, out);
    case StoredType::i64: return cast<int64_t>(bytes, n, out);
    case StoredType::u8: return cast<uint8_t>(bytes, n, out);
    case StoredType::u16: return cast<uint16_t>(bytes, n, out);
    case StoredType::u32: return cast<uint32_t>(bytes, n, out);
    case StoredType::u64: return cast<uint64_t>(bytes, n, out);
    case StoredType::boolean: return decode_bytes<boolean_to_float>(bytes, n, out);
    case StoredType::f8_e4m3: return decode_bytes<f8_e4m3_to_float>(bytes, n, out);
    case StoredType::f8_e5m2: return decode_bytes<f8_e5m2_to_float>(bytes, n, out);
    case StoredType::f8_e8m0: return decode_bytes<f8_e8m0_to_float>(bytes, n, out);
    default: break;
    }
    ggml_get_type_traits(ggml_type(type))->to_float(bytes, out, n);
}

bool is_float_target(ggml_type type) {
    if (type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16) return true;
    // These two are how activations are quantized; no operator reads weights of them.
    if (type == GGML_TYPE_Q8_1 || type == GGML_TYPE_Q8_K) return false;
    const ggml_type_traits * traits = ggml_get_type_traits(type);
    return traits != nullptr && traits->is_quantized && traits->blck_size > 0 &&
           traits->from_float_ref != nullptr && !ggml_quantize_requires_imatrix(type);
}

std::string from_floats(const float * in, int64_t n, ggml_type type, void * out) {
    if (n == 0) return {};
    if (type == GGML_TYPE_F32) {
        std::memcpy(out, in, size_t(n) * sizeof(float));
        return {};
    }
    if (type == GGML_TYPE_F16) {
        auto * const halves = static_cast<ggml_fp16_t *>(out);
        ggml_fp32_to_fp16_row(in, halves, n);
        return lost(in, halves, n, 0x7c00, type);
    }
    if (type == GGML_TYPE_BF16) {
        auto * const halves = static_cast<ggml_bf16_t *>(out);
        ggml_fp32_to_bf16_row(in, halves, n);
        return lost(in, halves, n, 0x7f80, type);
    }
    if (any_not_finite(in, n, uint32_t(0x7f800000)))
        return "a value is NaN or infinite, which " + std::string(ggml_type_name(type)) + " cannot hold";
    ggml_quantize_chunk(type, in, out, 0, 1, n, nullptr);
    // A block's scale is often a half, and large finite values make it infinite.
    if (!ggml_validate_row_data(type, out, run_bytes(stored_type(type), n)))
        return "values are beyond the range of " + std::string(ggml_type_name(type));
    return {};
}

} // namespace sd
