// Changing a container: pairs, tensor records and where their data comes from.
#include "runtime/base/math.h"
#include "runtime/gguf/read.h"

#include <algorithm>

namespace {

using ggml::gguf::Pair;
using ggml::gguf::TensorRecord;

// A new pair at the end; an older one of the same key is gone.
Pair & fresh_pair(gguf_context * ctx, const char * key, gguf_type type, bool is_array) {
    GGML_ASSERT(key != nullptr && *key != '\0');
    gguf_remove_key(ctx, key);
    Pair & pair = ctx->pairs.emplace_back();
    pair.key = key;
    pair.type = type;
    pair.is_array = is_array;
    return pair;
}

template <class T>
void set_value(gguf_context * ctx, const char * key, gguf_type type, T value) {
    const auto * bytes = reinterpret_cast<const uint8_t *>(&value);
    fresh_pair(ctx, key, type, false).bytes.assign(bytes, bytes + sizeof(T));
}

TensorRecord & record_named(gguf_context * ctx, const char * name) {
    const int64_t id = gguf_find_tensor(ctx, name);
    if (id < 0) GGML_ABORT("the container has no tensor '%s'", name);
    return ctx->tensors[size_t(id)];
}

// Places tensors one after the other, each at a multiple of the alignment.
void place_tensors(gguf_context * ctx) {
    uint64_t offset = 0;
    for (TensorRecord & record : ctx->tensors) {
        record.offset = offset;
        offset += ggml::align_up(record.bytes, ctx->alignment);
        ctx->data_bytes = size_t(record.offset + record.bytes);
    }
}

} // namespace

extern "C" {

int64_t gguf_remove_key(gguf_context * ctx, const char * key) {
    const int64_t id = gguf_find_key(ctx, key);
    if (id >= 0) ctx->pairs.erase(ctx->pairs.begin() + id);
    return id;
}

void gguf_set_val_u8(gguf_context * ctx, const char * key, uint8_t val) {
    set_value(ctx, key, GGUF_TYPE_UINT8, val);
}
void gguf_set_val_i8(gguf_context * ctx, const char * key, int8_t val) {
    set_value(ctx, key, GGUF_TYPE_INT8, val);
}
void gguf_set_val_u16(gguf_context * ctx, const char * key, uint16_t val) {
    set_value(ctx, key, GGUF_TYPE_UINT16, val);
}
void gguf_set_val_i16(gguf_context * ctx, const char * key, int16_t val) {
    set_value(ctx, key, GGUF_TYPE_INT16, val);
}
void gguf_set_val_u32(gguf_context * ctx, const char * key, uint32_t val) {
    if (std::strcmp(key, GGUF_KEY_GENERAL_ALIGNMENT) == 0) {
        GGML_ASSERT(ggml::is_power_of_two(val) && "the alignment must be a power of two");
        ctx->alignment = val;
        place_tensors(ctx);
    }
    set_value(ctx, key, GGUF_TYPE_UINT32, val);
}
void gguf_set_val_i32(gguf_context * ctx, const char * key, int32_t val) {
    set_value(ctx, key, GGUF_TYPE_INT32, val);
}
void gguf_set_val_f32(gguf_context * ctx, const char * key, float val) {
    set_value(ctx, key, GGUF_TYPE_FLOAT32, val);
}
void gguf_set_val_u64(gguf_context * ctx, const char * key, uint64_t val) {
    set_value(ctx, key, GGUF_TYPE_UINT64, val);
}
void gguf_set_val_i64(gguf_context * ctx, const char * key, int64_t val) {
    set_value(ctx, key, GGUF_TYPE_INT64, val);
}
void gguf_set_val_f64(gguf_context * ctx, const char * key, double val) {
    set_value(ctx, key, GGUF_TYPE_FLOAT64, val);
}
void gguf_set_val_bool(gguf_context * ctx, const char * key, bool val) {
    set_value(ctx, key, GGUF_TYPE_BOOL, uint8_t(val));
}
void gguf_set_val_str(gguf_context * ctx, const char * key, const char * val) {
    fresh_pair(ctx, key, GGUF_TYPE_STRING, false).strings.append(val, std::strlen(val));
}

void gguf_set_arr_data(gguf_context * ctx, const char * key, enum gguf_type type, const void * data,
                       size_t n) {
    const size_t unit = ggml::gguf::value_bytes(type);
    GGML_ASSERT(unit > 0 && "strings and arrays are not fixed-size values");
    const auto * bytes = static_cast<const uint8_t *>(data);
    fresh_pair(ctx, key, type, true).bytes.assign(bytes, bytes + n * unit);
}

void gguf_set_arr_str(gguf_context * ctx, const char * key, const char ** data, size_t n) {
    Pair & pair = fresh_pair(ctx, key, GGUF_TYPE_STRING, true);
    for (size_t i = 0; i < n; ++i) pair.strings.append(data[i], std::strlen(data[i]));
}

void gguf_set_kv(gguf_context * ctx, const gguf_context * src) {
    if (ctx == src) return;
    for (const Pair & pair : src->pairs) {
        if (pair.key == GGUF_KEY_GENERAL_ALIGNMENT && pair.type == GGUF_TYPE_UINT32 && !pair.is_array) {
            gguf_set_val_u32(ctx, pair.key.c_str(),
                             gguf_get_val_u32(src, gguf_find_key(src, pair.key.c_str())));
            continue;
        }
        gguf_remove_key(ctx, pair.key.c_str());
        ctx->pairs.push_back(pair);
    }
}

void gguf_add_tensor(gguf_context * ctx, const ggml_tensor * tensor) {
    GGML_ASSERT(tensor != nullptr && ggml_is_contiguous(tensor));
    if (gguf_find_tensor(ctx, tensor->name) >= 0)
        GGML_ABORT("the container has a tensor '%s' already", tensor->name);
    TensorRecord & record = ctx->tensors.emplace_back();
    record.name = tensor->name;
    record.type = tensor->type;
    record.n_dims = uint32_t(ggml_n_dims(tensor));
    std::copy(tensor->ne, tensor->ne + GGML_MAX_DIMS, record.ne);
    record.bytes = ggml_nbytes(tensor);
    record.tensor = tensor;
    place_tensors(ctx);
}

void gguf_set_tensor_type(gguf_context * ctx, const char * name, enum ggml_type type) {
    TensorRecord & record = record_named(ctx, name);
    record.type = type;
    const ggml::Status status = ggml::gguf::set_record_bytes(record);
    if (!status.ok()) GGML_ABORT("%s", status.message().c_str());
    place_tensors(ctx);
}

void gguf_set_tensor_data(gguf_context * ctx, const char * name, const void * data) {
    record_named(ctx, name).data = data;
}

} // extern "C"
