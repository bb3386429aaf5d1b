// Inside of a context: a chain of objects laid out one behind the other in the arena, each with this header
// right in front of its payload. Only the files of this room look at it.
#pragma once

#include "ggml.h"

struct ggml_object {
    size_t offs; // of the payload, from the start of the arena
    size_t size; // of the payload, a multiple of GGML_MEM_ALIGN
    ggml_object * next;
    ggml_object_type type;
};

// Payloads follow headers without padding, so both must keep the arena's alignment.
static_assert(sizeof(ggml_object) % GGML_MEM_ALIGN == 0);
static_assert(sizeof(ggml_tensor) % GGML_MEM_ALIGN == 0);

struct ggml_context {
    size_t mem_size = 0;
    void * mem_buffer = nullptr;
    bool owned = false;
    bool no_alloc = false;
    ggml_object * first = nullptr;
    ggml_object * last = nullptr;
};
