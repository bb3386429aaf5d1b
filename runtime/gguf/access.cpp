// Reading values of an open container. Wrong indices and wrong types are the caller's mistakes and stop.
#include "runtime/gguf/context.h"

#include <new>

namespace {

using ggml::gguf::Pair;
using ggml::gguf::TensorRecord;

const Pair & pair_at(const gguf_context * ctx, int64_t id) {
    GGML_ASSERT(id >= 0 && size_t(id) < ctx->pairs.size());
    return ctx->pairs[size_t(id)];
}

const TensorRecord & tensor_at(const gguf_context * ctx, int64_t id) {
    GGML_ASSERT(id >= 0 && size_t(id) < ctx->tensors.size());
    return ctx->tensors[size_t(id)];
}

template <class T>
T value_of(const gguf_context * ctx, int64_t id, gguf_type type) {
    const Pair & pair = pair_at(ctx, id);
    if (pair.is_array || pair.type != type) {
        GGML_ABORT("key '%s' holds %s%s, not %s", pair.key.c_str(), pair.is_array ? "an array of " : "",
                   gguf_type_name(pair.type), gguf_type_name(type));
    }
    T value;
    std::memcpy(&value, pair.bytes.data(), sizeof(T));
    return value;
}

} // namespace

extern "C" {

gguf_context * gguf_init_empty(void) { return new (std::nothrow) gguf_context; }
void gguf_free(gguf_context * ctx) { delete ctx; }

const char * gguf_type_name(enum gguf_type type) {
    constexpr const char * names[] = {"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                      "bool", "str", "arr", "u64", "i64", "f64"};
    return type >= 0 && type < GGUF_TYPE_COUNT ? names[type] : nullptr;
}

uint32_t gguf_get_version(const gguf_context * ctx) { return ctx->version; }
size_t gguf_get_alignment(const gguf_context * ctx) { return ctx->alignment; }
size_t gguf_get_data_offset(const gguf_context * ctx) { return ctx->data_offset; }

int64_t gguf_get_n_kv(const gguf_context * ctx) { return int64_t(ctx->pairs.size()); }

int64_t gguf_find_key(const gguf_context * ctx, const char * key) {
    for (size_t i = 0; i < ctx->pairs.size(); ++i) {
        if (ctx->pairs[i].key == key) return int64_t(i);
    }
    return -1;
}

const char * gguf_get_key(const gguf_context * ctx, int64_t key_id) {
    return pair_at(ctx, key_id).key.c_str();
}

enum gguf_type gguf_get_kv_type(const gguf_context * ctx, int64_t key_id) {
    const Pair & pair = pair_at(ctx, key_id);
    return pair.is_array ? GGUF_TYPE_ARRAY : pair.type;
}

enum gguf_type gguf_get_arr_type(const gguf_context * ctx, int64_t key_id) {
    const Pair & pair = pair_at(ctx, key_id);
    GGML_ASSERT(pair.is_array);
    return pair.type;
}

uint8_t gguf_get_val_u8(const gguf_context * ctx, int64_t key_id) {
    return value_of<uint8_t>(ctx, key_id, GGUF_TYPE_UINT8);
}
int8_t gguf_get_val_i8(const gguf_context * ctx, int64_t key_id) {
    return value_of<int8_t>(ctx, key_id, GGUF_TYPE_INT8);
}
uint16_t gguf_get_val_u16(const gguf_context * ctx, int64_t key_id) {
    return value_of<uint16_t>(ctx, key_id, GGUF_TYPE_UINT16);
}
int16_t gguf_get_val_i16(const gguf_context * ctx, int64_t key_id) {
    return value_of<int16_t>(ctx, key_id, GGUF_TYPE_INT16);
}
uint32_t gguf_get_val_u32(const gguf_context * ctx, int64_t key_id) {
    return value_of<uint32_t>(ctx, key_id, GGUF_TYPE_UINT32);
}
int32_t gguf_get_val_i32(const gguf_context * ctx, int64_t key_id) {
    return value_of<int32_t>(ctx, key_id, GGUF_TYPE_INT32);
}
float gguf_get_val_f32(const gguf_context * ctx, int64_t key_id) {
    return value_of<float>(ctx, key_id, GGUF_TYPE_FLOAT32);
}
uint64_t gguf_get_val_u64(const gguf_context * ctx, int64_t key_id) {
    return value_of<uint64_t>(ctx, key_id, GGUF_TYPE_UINT64);
}
int64_t gguf_get_val_i64(const gguf_context * ctx, int64_t key_id) {
    return value_of<int64_t>(ctx, key_id, GGUF_TYPE_INT64);
}
double gguf_get_val_f64(const gguf_context * ctx, int64_t key_id) {
    return value_of<double>(ctx, key_id, GGUF_TYPE_FLOAT64);
}
bool gguf_get_val_bool(const gguf_context * ctx, int64_t key_id) {
    return value_of<uint8_t>(ctx, key_id, GGUF_TYPE_BOOL) != 0;
}

const char * gguf_get_val_str(const gguf_context * ctx, int64_t key_id) {
    const Pair & pair = pair_at(ctx, key_id);
    GGML_ASSERT(!pair.is_array && pair.type == GGUF_TYPE_STRING);
    return pair.strings.at(0);
}

const void * gguf_get_val_data(const gguf_context * ctx, int64_t key_id) {
    const Pair & pair = pair_at(ctx, key_id);
    GGML_ASSERT(!pair.is_array && pair.type != GGUF_TYPE_STRING);
    return pair.bytes.data();
}

size_t gguf_get_arr_n(const gguf_context * ctx, int64_t key_id) {
    const Pair & pair = pair_at(ctx, key_id);
    GGML_ASSERT(pair.is_array);
    return pair.count();
}

const void * gguf_get_arr_data(const gguf_context * ctx, int64_t key_id) {
    const Pair & pair = pair_at(ctx, key_id);
    GGML_ASSERT(pair.is_array && pair.type != GGUF_TYPE_STRING);
    return pair.bytes.data();
}

const char * gguf_get_arr_str(const gguf_context * ctx, int64_t key_id, size_t i) {
    const Pair & pair = pair_at(ctx, key_id);
    GGML_ASSERT(pair.is_array && pair.type == GGUF_TYPE_STRING && i < pair.strings.size());
    return pair.strings.at(i);
}

int64_t gguf_get_n_tensors(const gguf_context * ctx) { return int64_t(ctx->tensors.size()); }

int64_t gguf_find_tensor(const gguf_context * ctx, const char * name) {
    for (size_t i = 0; i < ctx->tensors.size(); ++i) {
        if (ctx->tensors[i].name == name) return int64_t(i);
    }
    return -1;
}

size_t gguf_get_tensor_offset(const gguf_context * ctx, int64_t tensor_id) {
    return size_t(tensor_at(ctx, tensor_id).offset);
}
const char * gguf_get_tensor_name(const gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id).name.c_str();
}
const int64_t * gguf_get_tensor_ne(const gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id).ne;
}
enum ggml_type gguf_get_tensor_type(const gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id).type;
}
size_t gguf_get_tensor_size(const gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id).bytes;
}

} // extern "C"
