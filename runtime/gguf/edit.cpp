// Changing a container: pairs, tensor records and where their data comes from.
#include "runtime/base/math.h"
#include "runtime/gguf/read.h"

#include <algorithm>
#include <new>
#include <utility>

namespace {

using ggml::gguf::Pair;
using ggml::gguf::TensorRecord;

// Places tensors one after the other, each at a multiple of the alignment.
void place_tensors(gguf_context * ctx) {
    uint64_t offset = 0;
    for (TensorRecord & record : ctx->tensors) {
        record.offset = offset;
        offset += ggml::align_up(record.bytes, ctx->alignment);
        ctx->data_bytes = size_t(record.offset + record.bytes);
    }
}

void align_tensors(gguf_context * ctx, size_t alignment) {
    ctx->alignment = alignment;
    place_tensors(ctx);
}

// These calls return nothing, so missing memory can only stop; an exception must not reach C callers.
template <class Fn>
void within_memory(Fn && change) {
    try {
        change();
    } catch (const std::bad_alloc &) {
        GGML_ABORT("GGUF: out of memory");
    }
}

Pair new_pair(const char * key, gguf_type type, bool is_array) {
    GGML_ASSERT(key != nullptr && *key != '\0');
    Pair pair;
    pair.key = key;
    pair.type = type;
    pair.is_array = is_array;
    return pair;
}

// At the end; an older pair of the same key goes. It goes last, because key and values may be its own.
void store(gguf_context * ctx, Pair pair) {
    uint32_t alignment = 0;
    if (pair.key == GGUF_KEY_GENERAL_ALIGNMENT) {
        GGML_ASSERT(pair.type == GGUF_TYPE_UINT32 && !pair.is_array && "the alignment is one u32");
        std::memcpy(&alignment, pair.bytes.data(), sizeof alignment);
        GGML_ASSERT(ggml::is_power_of_two(alignment) && "the alignment must be a power of two");
    }
    gguf_remove_key(ctx, pair.key.c_str());
    ctx->pairs.push_back(std::move(pair));
    if (alignment != 0) align_tensors(ctx, alignment);
}

template <class T>
void set_value(gguf_context * ctx, const char * key, gguf_type type, T value) {
    within_memory([&] {
        const auto * bytes = reinterpret_cast<const uint8_t *>(&value);
        Pair pair = new_pair(key, type, false);
        pair.bytes.assign(bytes, bytes + sizeof(T));
        store(ctx, std::move(pair));
    });
}

TensorRecord & record_named(gguf_context * ctx, const char * name) {
    const int64_t id = gguf_find_tensor(ctx, name);
    if (id < 0) GGML_ABORT("the container has no tensor '%s'", name);
    return ctx->tensors[size_t(id)];
}

} // namespace

extern "C" {

int64_t gguf_remove_key(gguf_context * ctx, const char * key) {
    const int64_t id = gguf_find_key(ctx, key);
    if (id < 0) return id;
    const bool aligned = ctx->pairs[size_t(id)].key == GGUF_KEY_GENERAL_ALIGNMENT;
    ctx->pairs.erase(ctx->pairs.begin() + id);
    // What a reader assumes when the key is missing.
    if (aligned) align_tensors(ctx, GGUF_DEFAULT_ALIGNMENT);
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
    within_memory([&] {
        Pair pair = new_pair(key, GGUF_TYPE_STRING, false);
        pair.strings.append(val, std::strlen(val));
        store(ctx, std::move(pair));
    });
}

void gguf_set_arr_data(gguf_context * ctx, const char * key, enum gguf_type type, const void * data,
                       size_t n) {
    within_memory([&] {
        const size_t unit = ggml::gguf::value_bytes(type);
        GGML_ASSERT(unit > 0 && "strings and arrays are not fixed-size values");
        const auto * bytes = static_cast<const uint8_t *>(data);
        Pair pair = new_pair(key, type, true);
        pair.bytes.assign(bytes, bytes + n * unit);
        store(ctx, std::move(pair));
    });
}

void gguf_set_arr_str(gguf_context * ctx, const char * key, const char ** data, size_t n) {
    within_memory([&] {
        Pair pair = new_pair(key, GGUF_TYPE_STRING, true);
        for (size_t i = 0; i < n; ++i) pair.strings.append(data[i], std::strlen(data[i]));
        store(ctx, std::move(pair));
    });
}

void gguf_set_kv(gguf_context * ctx, const gguf_context * src) {
    if (ctx == src) return;
    within_memory([&] {
        for (const Pair & pair : src->pairs) store(ctx, pair);
    });
}

void gguf_add_tensor(gguf_context * ctx, const ggml_tensor * tensor) {
    within_memory([&] {
        GGML_ASSERT(tensor != nullptr && ggml_is_contiguous(tensor));
        if (tensor->name[0] == '\0') GGML_ABORT("a tensor without a name cannot be found in a container");
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
    });
}

void gguf_set_tensor_type(gguf_context * ctx, const char * name, enum ggml_type type) {
    GGML_ASSERT(type >= 0 && type < GGML_TYPE_COUNT && ggml_blck_size(type) > 0 && "a type that exists");
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
