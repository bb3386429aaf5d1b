#include "runtime/base/half.h"
#include "runtime/base/log.h"
#include "runtime/tensor/blocks.h"
#include "runtime/tensor/types.h"

#include <cmath>
#include <cstring>
#include <initializer_list>

namespace {

using namespace ggml;

// Data may come straight from a mapped file, at any address.
template <class T>
T load(const char * at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

bool finite_half(uint16_t bits) { return (bits & 0x7c00u) != 0x7c00u; }
bool finite_bf16(uint16_t bits) { return (bits & 0x7f80u) != 0x7f80u; }

template <class Block>
bool finite_scale(const char * at) {
    return finite_half(load<Block>(at).d);
}
template <class Block>
bool finite_scale_and_offset(const char * at) {
    const Block block = load<Block>(at);
    if constexpr (requires { block.dmin; }) {
        return finite_half(block.d) && finite_half(block.dmin);
    } else {
        return finite_half(block.d) && finite_half(block.m);
    }
}

bool anything(const char *) { return true; }

using IsValid = bool (*)(const char * block);

// Null for types whose data cannot be read here.
IsValid block_check(ggml_type type) {
    switch (type) {
    case GGML_TYPE_F32: return [](const char * at) { return std::isfinite(load<float>(at)); };
    case GGML_TYPE_F64: return [](const char * at) { return std::isfinite(load<double>(at)); };
    case GGML_TYPE_F16: return [](const char * at) { return finite_half(load<uint16_t>(at)); };
    case GGML_TYPE_BF16: return [](const char * at) { return finite_bf16(load<uint16_t>(at)); };
    case GGML_TYPE_Q4_0: return finite_scale<BlockQ4_0>;
    case GGML_TYPE_Q4_1: return finite_scale_and_offset<BlockQ4_1>;
    case GGML_TYPE_Q5_0: return finite_scale<BlockQ5_0>;
    case GGML_TYPE_Q5_1: return finite_scale_and_offset<BlockQ5_1>;
    case GGML_TYPE_Q8_0: return finite_scale<BlockQ8_0>;
    case GGML_TYPE_Q8_1:
        return [](const char * at) {
            const auto block = load<BlockQ8_1>(at);
            return finite_half(block.d) && finite_half(block.s);
        };
    case GGML_TYPE_Q2_K: return finite_scale_and_offset<BlockQ2_K>;
    case GGML_TYPE_Q3_K: return finite_scale<BlockQ3_K>;
    case GGML_TYPE_Q4_K: return finite_scale_and_offset<BlockQ4_K>;
    case GGML_TYPE_Q5_K: return finite_scale_and_offset<BlockQ5_K>;
    case GGML_TYPE_Q6_K: return finite_scale<BlockQ6_K>;
    case GGML_TYPE_Q8_K: return [](const char * at) { return std::isfinite(load<BlockQ8_K>(at).d); };
    case GGML_TYPE_I8:
    case GGML_TYPE_I16:
    case GGML_TYPE_I32:
    case GGML_TYPE_I64: return anything;
    default: return nullptr;
    }
}

} // namespace

bool ggml_validate_row_data(ggml_type type, const void * data, size_t nbytes) {
    const TypeInfo & info = type_info(type);
    const IsValid is_valid = block_check(type);
    if (is_valid == nullptr) {
        GGML_LOG_ERROR("ggml_validate_row_data: data of type %s (id %d) cannot be read\n", info.name,
                       int(type));
        return false;
    }
    if (nbytes % info.bytes != 0) {
        GGML_LOG_ERROR("ggml_validate_row_data: %zu bytes are no whole number of %s blocks of %zu bytes\n",
                       nbytes, info.name, info.bytes);
        return false;
    }
    const char * at = static_cast<const char *>(data);
    for (size_t i = 0; i < nbytes / info.bytes; ++i, at += info.bytes) {
        if (is_valid(at)) continue;
        GGML_LOG_ERROR("ggml_validate_row_data: %s block %zu holds a NaN or an infinity\n", info.name, i);
        return false;
    }
    return true;
}
