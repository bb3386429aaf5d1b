// What a device family implements: plain structs of functions, in the shape ggml's API implies. `optional`
// entries may be null. Callers reach them through ggml-backend.h only. An implementation never throws across
// these calls.
#pragma once

#include "ggml-alloc.h"
#include "ggml-backend.h"

#include <cstddef>
#include <cstdint>

struct ggml_backend_buffer_type_i {
    const char * (*get_name)(ggml_backend_buffer_type_t buft);
    ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t buft,
                                          size_t size); // null: out of memory
    size_t (*get_alignment)(ggml_backend_buffer_type_t buft);
    size_t (*get_max_size)(ggml_backend_buffer_type_t buft);                          // optional: SIZE_MAX
    size_t (*get_alloc_size)(ggml_backend_buffer_type_t buft, const ggml_tensor * t); // optional: ggml_nbytes
    bool (*is_host)(ggml_backend_buffer_type_t buft);                                 // optional: false
};

struct ggml_backend_buffer_type {
    ggml_backend_buffer_type_i iface;
    ggml_backend_dev_t device;
    void * context;
};

struct ggml_backend_buffer_i {
    void (*free_buffer)(ggml_backend_buffer_t buffer); // optional
    void * (*get_base)(ggml_backend_buffer_t buffer);
    ggml_status (*init_tensor)(ggml_backend_buffer_t buffer, ggml_tensor * t); // optional
    void (*memset_tensor)(ggml_backend_buffer_t buffer, ggml_tensor * t, uint8_t value, size_t offset,
                          size_t size);
    void (*set_tensor)(ggml_backend_buffer_t buffer, ggml_tensor * t, const void * data, size_t offset,
                       size_t size);
    void (*get_tensor)(ggml_backend_buffer_t buffer, const ggml_tensor * t, void * data, size_t offset,
                       size_t size);
    // optional: dst lies in `buffer`, src anywhere; false: not supported for this pair
    bool (*cpy_tensor)(ggml_backend_buffer_t buffer, const ggml_tensor * src, ggml_tensor * dst);
    void (*clear)(ggml_backend_buffer_t buffer, uint8_t value);
    void (*reset)(ggml_backend_buffer_t buffer); // optional: drop per-tensor state
};

struct ggml_backend_buffer {
    ggml_backend_buffer_i iface;
    ggml_backend_buffer_type_t buft;
    void * context;
    size_t size;
    enum ggml_backend_buffer_usage usage;
};

// Recording work instead of running it, and launching the recording (CUDA graphs and the like).
struct ggml_backend_replay_i {
    // From begin to end, work queued on the backend is recorded and not run.
    ggml_status (*begin)(ggml_backend_t backend);
    // recording: null after a failure. Also called to end a recording that failed in between (keep false).
    ggml_status (*end)(ggml_backend_t backend, bool keep, void ** recording);
    ggml_status (*launch)(ggml_backend_t backend, void * recording);
    void (*free)(ggml_backend_t backend, void * recording); // no launch of it is unfinished
    // True while a recording that the caller started is under way: work queued now becomes part of it.
    bool (*is_enclosed)(ggml_backend_t backend);
    // What work is queued on. Recordings made on one stream are not launched on another.
    uint64_t (*stream_id)(ggml_backend_t backend);
    // Do addresses of the device's own scratch memory stay valid as long as the backend lives?
    bool (*stable_addresses)(ggml_backend_t backend);
    bool (*enabled)(ggml_backend_t backend); // false: switched off by the family's own settings
};

struct ggml_backend_i {
    const char * (*get_name)(ggml_backend_t backend);
    void (*free)(ggml_backend_t backend);

    // optional, ordered with the work queued before
    void (*set_tensor_async)(ggml_backend_t backend, ggml_tensor * t, const void * data, size_t offset,
                             size_t size);
    void (*get_tensor_async)(ggml_backend_t backend, const ggml_tensor * t, void * data, size_t offset,
                             size_t size);
    bool (*cpy_tensor_async)(ggml_backend_t src_backend, ggml_backend_t dst_backend, const ggml_tensor * src,
                             ggml_tensor * dst);
    void (*synchronize)(ggml_backend_t backend); // optional for synchronous backends

    ggml_backend_graph_plan_t (*graph_plan_create)(ggml_backend_t backend,
                                                   const ggml_cgraph * graph); // optional
    void (*graph_plan_free)(ggml_backend_t backend, ggml_backend_graph_plan_t plan);
    ggml_status (*graph_plan_compute)(ggml_backend_t backend, ggml_backend_graph_plan_t plan);

    ggml_status (*graph_compute)(ggml_backend_t backend, ggml_cgraph * graph);

    void (*event_record)(ggml_backend_t backend, ggml_backend_event_t event); // optional
    void (*event_wait)(ggml_backend_t backend, ggml_backend_event_t event);   // optional
    void (*graph_optimize)(ggml_backend_t backend, ggml_cgraph * graph);      // optional

    // optional: will graph_compute never write this node of the graph, because the device fuses it away?
    // Asked after graph_optimize and before storage is given; nodes answered true get none.
    bool (*skip_alloc)(ggml_backend_t backend, const ggml_cgraph * graph, const ggml_tensor * node);

    const ggml_backend_replay_i * replay; // optional
};

struct ggml_backend {
    ggml_guid_t guid;
    ggml_backend_i iface;
    ggml_backend_dev_t device;
    void * context;
};

struct ggml_backend_event {
    ggml_backend_dev_t device;
    void * context;
};

struct ggml_backend_device_i {
    const char * (*get_name)(ggml_backend_dev_t dev);
    const char * (*get_description)(ggml_backend_dev_t dev);
    void (*get_memory)(ggml_backend_dev_t dev, size_t * free, size_t * total);
    enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t dev);
    void (*get_props)(ggml_backend_dev_t dev, ggml_backend_dev_props * props);
    ggml_backend_t (*init_backend)(ggml_backend_dev_t dev, const char * params);
    ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t dev);
    ggml_backend_buffer_type_t (*get_host_buffer_type)(ggml_backend_dev_t dev); // optional
    ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t dev, void * ptr, size_t size,
                                                  size_t max_tensor_size); // optional
    bool (*supports_op)(ggml_backend_dev_t dev, const ggml_tensor * op);
    bool (*supports_buft)(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft);
    bool (*offload_op)(ggml_backend_dev_t dev, const ggml_tensor * op); // optional
    ggml_backend_event_t (*event_new)(ggml_backend_dev_t dev);          // optional
    void (*event_free)(ggml_backend_dev_t dev, ggml_backend_event_t event);
    void (*event_synchronize)(ggml_backend_dev_t dev, ggml_backend_event_t event);
};

struct ggml_backend_device {
    ggml_backend_device_i iface;
    ggml_backend_reg_t reg;
    void * context;

    // The extension core's, written and read by it alone, atomically: what is registered for the device
    // (null: nothing), and what closed registration (0: nothing yet).
    const void * extensions = nullptr;
    int extensions_frozen = 0;
};

struct ggml_backend_reg_i {
    const char * (*get_name)(ggml_backend_reg_t reg);
    size_t (*get_device_count)(ggml_backend_reg_t reg);
    ggml_backend_dev_t (*get_device)(ggml_backend_reg_t reg, size_t index);
    void * (*get_proc_address)(ggml_backend_reg_t reg, const char * name); // optional
};

struct ggml_backend_reg {
    int api_version; // kBackendApiVersion
    ggml_backend_reg_i iface;
    void * context;
};

namespace ggml {

inline constexpr int kBackendApiVersion = 1;

// Builds a buffer object around an implementation. Null when the object itself cannot be allocated.
ggml_backend_buffer_t make_buffer(ggml_backend_buffer_type_t buft, const ggml_backend_buffer_i & iface,
                                  void * context, size_t size);

// Whether a buffer is several in one (alloc/multi_buffer.h makes them).
bool is_multi_buffer(ggml_backend_buffer_t buffer);

// The list of backends linked into this library, supplied by backends/registry.cpp. Null-terminated.
using BackendRegFn = ggml_backend_reg_t (*)();
extern const BackendRegFn kBuiltinBackends[];

} // namespace ggml
