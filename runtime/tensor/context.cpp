#include "runtime/tensor/context.h"

#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/tensor/object.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace ggml {
namespace {

// Cache-line alignment of the arena lets tensor data be loaded by any vector unit without crossing lines.
constexpr size_t kArenaAlign = 64;

size_t used_bytes(const ggml_context * ctx) { return ctx->last ? ctx->last->offs + ctx->last->size : 0; }

// End of the arena after one more object of this payload; false when that is not even a number.
bool end_after(const ggml_context * ctx, size_t bytes, size_t & end) {
    return checked_align_up(bytes, GGML_MEM_ALIGN, end) && checked_add(end, sizeof(ggml_object), end) &&
           checked_add(end, used_bytes(ctx), end);
}

} // namespace

size_t arena_object_bytes(size_t bytes) {
    size_t padded = 0;
    if (!checked_align_up(bytes, GGML_MEM_ALIGN, padded) ||
        !checked_add(padded, sizeof(ggml_object), padded)) {
        GGML_ABORT("an object of %zu bytes does not fit into memory", bytes);
    }
    return padded;
}

bool arena_has_room(const ggml_context * ctx, size_t bytes) {
    size_t end = 0;
    return end_after(ctx, bytes, end) && end <= ctx->mem_size;
}

void * arena_try_new(ggml_context * ctx, ggml_object_type type, size_t bytes) {
    size_t end = 0;
    if (!end_after(ctx, bytes, end) || end > ctx->mem_size) return nullptr;

    char * const place = static_cast<char *>(ctx->mem_buffer) + used_bytes(ctx);
    auto * object = new (place) ggml_object{};
    object->offs = used_bytes(ctx) + sizeof(ggml_object);
    object->size = end - object->offs;
    object->type = type;
    (ctx->last ? ctx->last->next : ctx->first) = object;
    ctx->last = object;
    return place + sizeof(ggml_object);
}

void * arena_new(ggml_context * ctx, ggml_object_type type, size_t bytes) {
    if (void * place = arena_try_new(ctx, type, bytes)) return place;
    size_t end = 0;
    if (!end_after(ctx, bytes, end)) {
        GGML_ABORT("context memory: an object of %zu bytes does not fit into memory", bytes);
    }
    GGML_ABORT(
        "context memory: %zu bytes needed, %zu given to ggml_init (%zu in use, the new object has %zu)", end,
        ctx->mem_size, used_bytes(ctx), bytes);
}

} // namespace ggml

ggml_context * ggml_init(ggml_init_params params) {
    // A context of no bytes is legal; one unit keeps its buffer distinct from null.
    const size_t wanted = std::max<size_t>(params.mem_size, GGML_MEM_ALIGN);
    size_t mem_size = wanted;
    const bool owned = params.mem_buffer == nullptr;
    if (reinterpret_cast<uintptr_t>(params.mem_buffer) % GGML_MEM_ALIGN != 0) {
        GGML_ABORT("ggml_init: mem_buffer %p is not aligned to %d bytes", params.mem_buffer,
                   int(GGML_MEM_ALIGN));
    }
    void * buffer = params.mem_buffer;
    if (owned) {
        size_t allocated = 0;
        if (ggml::checked_align_up(wanted, ggml::kArenaAlign, allocated)) {
            buffer = std::aligned_alloc(ggml::kArenaAlign, allocated);
        }
        mem_size = ggml::align_up(wanted, GGML_MEM_ALIGN);
    }
    ggml_context * ctx = buffer ? new (std::nothrow) ggml_context : nullptr;
    if (ctx == nullptr) {
        if (owned) std::free(buffer);
        GGML_LOG_ERROR("ggml_init: out of memory, %zu bytes wanted\n", params.mem_size);
        return nullptr;
    }
    ctx->mem_size = mem_size;
    ctx->mem_buffer = buffer;
    ctx->owned = owned;
    ctx->no_alloc = params.no_alloc;
    return ctx;
}

void ggml_reset(ggml_context * ctx) {
    if (ctx == nullptr) return;
    ctx->first = nullptr;
    ctx->last = nullptr;
}

void ggml_free(ggml_context * ctx) {
    if (ctx == nullptr) return;
    if (ctx->owned) std::free(ctx->mem_buffer);
    delete ctx;
}

size_t ggml_used_mem(const ggml_context * ctx) { return ggml::used_bytes(ctx); }

bool ggml_get_no_alloc(ggml_context * ctx) { return ctx->no_alloc; }

void ggml_set_no_alloc(ggml_context * ctx, bool no_alloc) { ctx->no_alloc = no_alloc; }

void * ggml_get_mem_buffer(const ggml_context * ctx) { return ctx->mem_buffer; }

size_t ggml_get_mem_size(const ggml_context * ctx) { return ctx->mem_size; }

void * ggml_new_buffer(ggml_context * ctx, size_t nbytes) {
    return ggml::arena_new(ctx, GGML_OBJECT_TYPE_WORK_BUFFER, nbytes);
}

void ggml_print_object(const ggml_object * object) {
    GGML_LOG_INFO(" - object: type = %d, offset = %zu, size = %zu, next = %p\n", int(object->type),
                  object->offs, object->size, static_cast<const void *>(object->next));
}

void ggml_print_objects(const ggml_context * ctx) {
    GGML_LOG_INFO("objects in context %p:\n", static_cast<const void *>(ctx));
    for (const ggml_object * object = ctx->first; object; object = object->next) ggml_print_object(object);
    GGML_LOG_INFO("--- end ---\n");
}
