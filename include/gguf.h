// GGUF: a container for key/value metadata and named tensors.
//
// Layout of a file: magic "GGUF"; uint32 version; int64 tensor count; int64 pair count; the pairs (key,
// uint32 type, value; arrays carry an element type and a uint64 count); the tensor records (name, uint32
// dimension count, uint64 sizes, uint32 ggml_type, uint64 offset into the data section); padding; the data
// section. A string is a uint64 length and the bytes. Integers are little-endian. A bool takes one byte.
//
// Promise: reading never trusts the file - counts, sizes, offsets and types are checked before use, and a
// wrong file gives NULL with a log line that says what is wrong. Asking a context for a value with the wrong
// type or a wrong index is a programming mistake and stops. A context may be read by several threads, changed
// by one.
#pragma once

#include "ggml.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GGUF_MAGIC "GGUF"
#define GGUF_VERSION 3

#define GGUF_KEY_GENERAL_ALIGNMENT "general.alignment"

#define GGUF_DEFAULT_ALIGNMENT 32

#ifdef __cplusplus
extern "C" {
#endif

// Value types as stored in files.
enum gguf_type {
    GGUF_TYPE_UINT8 = 0,
    GGUF_TYPE_INT8 = 1,
    GGUF_TYPE_UINT16 = 2,
    GGUF_TYPE_INT16 = 3,
    GGUF_TYPE_UINT32 = 4,
    GGUF_TYPE_INT32 = 5,
    GGUF_TYPE_FLOAT32 = 6,
    GGUF_TYPE_BOOL = 7,
    GGUF_TYPE_STRING = 8,
    GGUF_TYPE_ARRAY = 9,
    GGUF_TYPE_UINT64 = 10,
    GGUF_TYPE_INT64 = 11,
    GGUF_TYPE_FLOAT64 = 12,
    GGUF_TYPE_COUNT, // number of types, not a type
};

struct gguf_context;

struct gguf_init_params {
    // With ctx set: create the tensors without loading data into them.
    bool no_alloc;

    // Where to put a new ggml_context with one tensor per record (the caller frees it); NULL: metadata only.
    struct ggml_context ** ctx;
};

// Reads up to len bytes at byte offset `offset` into output and returns how many were read; fewer means the
// end.
typedef size_t (*gguf_reader_callback_t)(void * userdata, void * output, uint64_t offset, size_t len);

//
// Opening and closing
//

GGML_API struct gguf_context * gguf_init_empty(void);

// Read a container from the current position of an open file (which stays open), a file by name (UTF-8),
// memory, or a callback. max_chunk_read: most bytes per callback call, 0 for no limit; max_expected_size:
// bytes the source is known to have, used to refuse impossible sizes. NULL on failure, with nothing left
// behind in params.ctx.
GGML_API struct gguf_context * gguf_init_from_file_ptr(FILE * file, struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_file(const char * fname, struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_buffer(const void * data, size_t size,
                                                     struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_callback(gguf_reader_callback_t callback, void * userdata,
                                                       size_t max_chunk_read, uint64_t max_expected_size,
                                                       struct gguf_init_params params);

// gguf_init_from_callback for callers that report failures themselves: nothing is logged. `reason` (NULL, or
// reason_size bytes) gets why it failed as "gguf.ID: one line", cut to fit and terminated with a zero; an
// empty text on success.
GGML_API struct gguf_context * gguf_init_from_callback_or_reason(gguf_reader_callback_t callback,
                                                                 void * userdata, size_t max_chunk_read,
                                                                 uint64_t max_expected_size,
                                                                 struct gguf_init_params params,
                                                                 char * reason, size_t reason_size);

// NULL is allowed. Does not free the ggml_context made while opening.
GGML_API void gguf_free(struct gguf_context * ctx);

// "u8", "str", "arr" ...; NULL for a value that is no type.
GGML_API const char * gguf_type_name(enum gguf_type type);

GGML_API uint32_t gguf_get_version(const struct gguf_context * ctx);
GGML_API size_t gguf_get_alignment(const struct gguf_context * ctx);

// Byte in the file where the data section starts. A multiple of the alignment when there are tensors.
GGML_API size_t gguf_get_data_offset(const struct gguf_context * ctx);

//
// Pairs, numbered 0 .. n_kv - 1
//

GGML_API int64_t gguf_get_n_kv(const struct gguf_context * ctx);
GGML_API int64_t gguf_find_key(const struct gguf_context * ctx, const char * key); // -1: no such key
GGML_API const char * gguf_get_key(const struct gguf_context * ctx, int64_t key_id);

GGML_API enum gguf_type gguf_get_kv_type(const struct gguf_context * ctx, int64_t key_id);
GGML_API enum gguf_type gguf_get_arr_type(const struct gguf_context * ctx, int64_t key_id); // of the elements

// The value, which must have exactly this type. Pointers stay valid until the pair is changed or the context
// freed.
GGML_API uint8_t gguf_get_val_u8(const struct gguf_context * ctx, int64_t key_id);
GGML_API int8_t gguf_get_val_i8(const struct gguf_context * ctx, int64_t key_id);
GGML_API uint16_t gguf_get_val_u16(const struct gguf_context * ctx, int64_t key_id);
GGML_API int16_t gguf_get_val_i16(const struct gguf_context * ctx, int64_t key_id);
GGML_API uint32_t gguf_get_val_u32(const struct gguf_context * ctx, int64_t key_id);
GGML_API int32_t gguf_get_val_i32(const struct gguf_context * ctx, int64_t key_id);
GGML_API float gguf_get_val_f32(const struct gguf_context * ctx, int64_t key_id);
GGML_API uint64_t gguf_get_val_u64(const struct gguf_context * ctx, int64_t key_id);
GGML_API int64_t gguf_get_val_i64(const struct gguf_context * ctx, int64_t key_id);
GGML_API double gguf_get_val_f64(const struct gguf_context * ctx, int64_t key_id);
GGML_API bool gguf_get_val_bool(const struct gguf_context * ctx, int64_t key_id);
GGML_API const char * gguf_get_val_str(const struct gguf_context * ctx, int64_t key_id);
GGML_API const void * gguf_get_val_data(const struct gguf_context * ctx,
                                        int64_t key_id); // no string, no array

// Arrays: number of elements, the elements as stored (not for strings; bools take one byte each), one string.
GGML_API size_t gguf_get_arr_n(const struct gguf_context * ctx, int64_t key_id);
GGML_API const void * gguf_get_arr_data(const struct gguf_context * ctx, int64_t key_id);
GGML_API const char * gguf_get_arr_str(const struct gguf_context * ctx, int64_t key_id, size_t i);

//
// Tensors, numbered 0 .. n_tensors - 1
//

GGML_API int64_t gguf_get_n_tensors(const struct gguf_context * ctx);
GGML_API int64_t gguf_find_tensor(const struct gguf_context * ctx, const char * name); // -1: no such tensor
GGML_API size_t gguf_get_tensor_offset(const struct gguf_context * ctx,
                                       int64_t tensor_id); // in the data section
GGML_API const char * gguf_get_tensor_name(const struct gguf_context * ctx, int64_t tensor_id);

// GGML_MAX_DIMS sizes, dimension 0 first, 1 for dimensions the tensor does not have.
GGML_API const int64_t * gguf_get_tensor_ne(const struct gguf_context * ctx, int64_t tensor_id);
GGML_API enum ggml_type gguf_get_tensor_type(const struct gguf_context * ctx, int64_t tensor_id);
GGML_API size_t gguf_get_tensor_size(const struct gguf_context * ctx, int64_t tensor_id); // bytes

//
// Changing a context
//

// Removes a pair and returns the number it had, or -1 when there was none.
GGML_API int64_t gguf_remove_key(struct gguf_context * ctx, const char * key);

// Set a value. A key that exists already loses its old value; the pair is always the last one afterwards.
// Everything passed in is copied.
GGML_API void gguf_set_val_u8(struct gguf_context * ctx, const char * key, uint8_t val);
GGML_API void gguf_set_val_i8(struct gguf_context * ctx, const char * key, int8_t val);
GGML_API void gguf_set_val_u16(struct gguf_context * ctx, const char * key, uint16_t val);
GGML_API void gguf_set_val_i16(struct gguf_context * ctx, const char * key, int16_t val);
GGML_API void gguf_set_val_u32(struct gguf_context * ctx, const char * key, uint32_t val);
GGML_API void gguf_set_val_i32(struct gguf_context * ctx, const char * key, int32_t val);
GGML_API void gguf_set_val_f32(struct gguf_context * ctx, const char * key, float val);
GGML_API void gguf_set_val_u64(struct gguf_context * ctx, const char * key, uint64_t val);
GGML_API void gguf_set_val_i64(struct gguf_context * ctx, const char * key, int64_t val);
GGML_API void gguf_set_val_f64(struct gguf_context * ctx, const char * key, double val);
GGML_API void gguf_set_val_bool(struct gguf_context * ctx, const char * key, bool val);
GGML_API void gguf_set_val_str(struct gguf_context * ctx, const char * key, const char * val);

// n elements of a fixed-size type, or n strings.
GGML_API void gguf_set_arr_data(struct gguf_context * ctx, const char * key, enum gguf_type type,
                                const void * data, size_t n);
GGML_API void gguf_set_arr_str(struct gguf_context * ctx, const char * key, const char ** data, size_t n);

// Sets every pair of src in ctx.
GGML_API void gguf_set_kv(struct gguf_context * ctx, const struct gguf_context * src);

// Appends a record for a tensor, whose name must be new. The tensor must stay alive until the context is
// written; its data is read then.
GGML_API void gguf_add_tensor(struct gguf_context * ctx, const struct ggml_tensor * tensor);

// Changes a tensor's type and moves the offsets of all tensors after it, so that the data section has no
// holes beyond padding.
GGML_API void gguf_set_tensor_type(struct gguf_context * ctx, const char * name, enum ggml_type type);

// Where to take the tensor's data from on writing: gguf_get_tensor_size bytes that stay valid until then.
GGML_API void gguf_set_tensor_data(struct gguf_context * ctx, const char * name, const void * data);

//
// Writing
//

// In one go, or with only_meta the part before the data section, padding included, to which the caller
// appends the data. False: the file could not be written.
GGML_API bool gguf_write_to_file_ptr(const struct gguf_context * ctx, FILE * file, bool only_meta);
GGML_API bool gguf_write_to_file(const struct gguf_context * ctx, const char * fname, bool only_meta);

// For callers that write data first and metadata last: the bytes to leave free at the start of the file, and
// the metadata itself, written to `data` (that many bytes).
GGML_API size_t gguf_get_meta_size(const struct gguf_context * ctx);
GGML_API void gguf_get_meta_data(const struct gguf_context * ctx, void * data);

#ifdef __cplusplus
}
#endif
