// Devices, the memory on them and the streams that compute on them. The scheduler, which spreads a graph over
// several of them, is declared in ggml-sched.h and comes with this header.
//
//   registration (ggml_backend_reg)  a family of devices, linked in or loaded
//   device       (ggml_backend_dev)  one place that can compute
//   backend      (ggml_backend)      a stream of work on a device
//   buffer type / buffer             how memory is made there / a piece of it
//   event                            a point in a stream that another stream or the host can wait for
//
// Promise: sizes and offsets are bytes. Handles returned by *_get, *_by_name and *_by_type belong to the
// library; handles returned by *_new, *_init and *_alloc belong to the caller. Lack of memory is an answer
// (NULL, false or GGML_STATUS_ALLOC_FAILED). Asking for bytes outside a tensor stops with the tensor's name
// and the two ranges.
//
// Threads: registry and device queries may be called from any thread. A backend, an event and a scheduler are
// used by one thread at a time. Distinct ranges of a buffer may be read and written from distinct threads.
#pragma once

#include "ggml-alloc.h"
#include "ggml.h"

#ifdef GGML_BACKEND_SHARED
#    if defined(_WIN32) && !defined(__MINGW32__)
#        ifdef GGML_BACKEND_BUILD
#            define GGML_BACKEND_API __declspec(dllexport) extern
#        else
#            define GGML_BACKEND_API __declspec(dllimport) extern
#        endif
#    else
#        define GGML_BACKEND_API __attribute__((visibility("default"))) extern
#    endif
#else
#    define GGML_BACKEND_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_backend_buffer_type * ggml_backend_buffer_type_t;
typedef struct ggml_backend_buffer * ggml_backend_buffer_t;
typedef struct ggml_backend_event * ggml_backend_event_t;
typedef struct ggml_backend * ggml_backend_t;
typedef void * ggml_backend_graph_plan_t;
typedef struct ggml_backend_reg * ggml_backend_reg_t;
typedef struct ggml_backend_device * ggml_backend_dev_t;

//
// Buffer types
//

GGML_API const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft);

// A new buffer of `size` bytes, contents undefined; NULL when it does not fit. Size 0 gives a buffer without
// memory.
GGML_API ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size);

// Alignment of tensors in such buffers (a power of two), and the largest buffer that can be made.
GGML_API size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t buft);
GGML_API size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t buft);

// Bytes to set aside for a tensor: at least ggml_nbytes, more where the device pads.
GGML_API size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft,
                                                 const struct ggml_tensor * tensor);

// True when tensor->data may be dereferenced on the host and has ggml's ordinary layout.
GGML_API bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t buft);

// The device the memory belongs to; NULL for plain host memory that no device claims.
GGML_API ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t buft);

//
// Buffers
//

// What a buffer holds. The scheduler prefers to run an operator where its weights are.
enum ggml_backend_buffer_usage {
    GGML_BACKEND_BUFFER_USAGE_ANY = 0,
    GGML_BACKEND_BUFFER_USAGE_WEIGHTS = 1,
    GGML_BACKEND_BUFFER_USAGE_COMPUTE = 2,
};

GGML_API const char * ggml_backend_buffer_name(ggml_backend_buffer_t buffer);

// Frees the memory; tensors in it must not be used afterwards. NULL is allowed.
GGML_API void ggml_backend_buffer_free(ggml_backend_buffer_t buffer);

// Address of the first byte as tensor->data counts it; NULL for a buffer of size 0. Dereference it only when
// ggml_backend_buffer_is_host.
GGML_API void * ggml_backend_buffer_get_base(ggml_backend_buffer_t buffer);
GGML_API size_t ggml_backend_buffer_get_size(ggml_backend_buffer_t buffer);

// Prepares a tensor whose buffer and data are set (devices may attach state in tensor->extra).
GGML_API enum ggml_status ggml_backend_buffer_init_tensor(ggml_backend_buffer_t buffer,
                                                          struct ggml_tensor * tensor);

// The answers of the buffer's type.
GGML_API size_t ggml_backend_buffer_get_alignment(ggml_backend_buffer_t buffer);
GGML_API size_t ggml_backend_buffer_get_max_size(ggml_backend_buffer_t buffer);
GGML_API size_t ggml_backend_buffer_get_alloc_size(ggml_backend_buffer_t buffer,
                                                   const struct ggml_tensor * tensor);
GGML_API bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer);
GGML_API ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer);

// Every byte becomes `value`.
GGML_API void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value);
GGML_API void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer,
                                            enum ggml_backend_buffer_usage usage);
GGML_API enum ggml_backend_buffer_usage ggml_backend_buffer_get_usage(ggml_backend_buffer_t buffer);

// Drops what init_tensor attached; the tensors then have to be initialised again.
GGML_API void ggml_backend_buffer_reset(ggml_backend_buffer_t buffer);

//
// Tensor data
//

// Copies a tensor to another of the same shape, type and strides, wherever the two are; returns when done.
GGML_API void ggml_backend_tensor_copy(const struct ggml_tensor * src, struct ggml_tensor * dst);

// Bytes [offset, offset + size) of a tensor from or to host memory; return when done. Size 0 does nothing.
GGML_API void ggml_backend_tensor_set(struct ggml_tensor * tensor, const void * data, size_t offset,
                                      size_t size);
GGML_API void ggml_backend_tensor_get(const struct ggml_tensor * tensor, void * data, size_t offset,
                                      size_t size);
GGML_API void ggml_backend_tensor_memset(struct ggml_tensor * tensor, uint8_t value, size_t offset,
                                         size_t size);

// n_copies pieces of `size` bytes: piece i starts at offset + i * stride_tensor in the tensor and at
// i * stride_data in host memory.
GGML_API void ggml_backend_tensor_set_2d(struct ggml_tensor * tensor, const void * data, size_t offset,
                                         size_t size, size_t n_copies, size_t stride_tensor,
                                         size_t stride_data);
GGML_API void ggml_backend_tensor_get_2d(const struct ggml_tensor * tensor, void * data, size_t offset,
                                         size_t size, size_t n_copies, size_t stride_tensor,
                                         size_t stride_data);

// The same, queued behind the backend's earlier work where it can. `data` must stay valid until
// ggml_backend_synchronize. A backend without asynchronous transfers does the work before returning.
GGML_API void ggml_backend_tensor_set_async(ggml_backend_t backend, struct ggml_tensor * tensor,
                                            const void * data, size_t offset, size_t size);
GGML_API void ggml_backend_tensor_get_async(ggml_backend_t backend, const struct ggml_tensor * tensor,
                                            void * data, size_t offset, size_t size);
GGML_API void ggml_backend_tensor_set_2d_async(ggml_backend_t backend, struct ggml_tensor * tensor,
                                               const void * data, size_t offset, size_t size, size_t n_copies,
                                               size_t stride_tensor, size_t stride_data);
GGML_API void ggml_backend_tensor_get_2d_async(ggml_backend_t backend, const struct ggml_tensor * tensor,
                                               void * data, size_t offset, size_t size, size_t n_copies,
                                               size_t stride_tensor, size_t stride_data);

// Copies between two streams: after everything queued on backend_src, before anything queued later on
// backend_dst. When the pair has no asynchronous copy, both are synchronized and the copy is done before
// returning.
GGML_API void ggml_backend_tensor_copy_async(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                             const struct ggml_tensor * src, struct ggml_tensor * dst);

// Gives a tensor without storage its place: addr lies in the buffer with room for its allocation size.
GGML_API enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                                    void * addr);

// Gives a view its place, from view_src (which has storage) and view_offs.
GGML_API enum ggml_status ggml_backend_view_init(struct ggml_tensor * tensor);

//
// Backends
//

// A constant of the backend's implementation; NULL for a NULL backend.
GGML_API ggml_guid_t ggml_backend_guid(ggml_backend_t backend);
GGML_API const char * ggml_backend_name(ggml_backend_t backend); // "NULL" for a NULL backend
GGML_API void ggml_backend_free(ggml_backend_t backend);         // NULL is allowed

// The type of memory this backend computes in, and shorthands for it.
GGML_API ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend);
GGML_API ggml_backend_buffer_t ggml_backend_alloc_buffer(ggml_backend_t backend, size_t size);
GGML_API size_t ggml_backend_get_alignment(ggml_backend_t backend);
GGML_API size_t ggml_backend_get_max_size(ggml_backend_t backend);

GGML_API ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend);

// Waits for everything queued.
GGML_API void ggml_backend_synchronize(ggml_backend_t backend);

// A graph prepared once and computed many times. NULL: this backend has no plans. The graph must outlive the
// plan.
GGML_API ggml_backend_graph_plan_t ggml_backend_graph_plan_create(ggml_backend_t backend,
                                                                  struct ggml_cgraph * cgraph);
GGML_API void ggml_backend_graph_plan_free(ggml_backend_t backend, ggml_backend_graph_plan_t plan);
GGML_API enum ggml_status ggml_backend_graph_plan_compute(ggml_backend_t backend,
                                                          ggml_backend_graph_plan_t plan);

// Runs a graph whose tensors all have storage this backend can use. The async form may return before the work
// is done; what it then returns is whether the work could be queued.
GGML_API enum ggml_status ggml_backend_graph_compute(ggml_backend_t backend, struct ggml_cgraph * cgraph);
GGML_API enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend,
                                                           struct ggml_cgraph * cgraph);

// The questions of the backend's device, see ggml_backend_dev_supports_op and its neighbours.
GGML_API bool ggml_backend_supports_op(ggml_backend_t backend, const struct ggml_tensor * op);
GGML_API bool ggml_backend_supports_buft(ggml_backend_t backend, ggml_backend_buffer_type_t buft);
GGML_API bool ggml_backend_offload_op(ggml_backend_t backend, const struct ggml_tensor * op);

//
// Events
//

// NULL when the device has no events. Record marks the point a stream has reached; the host waits for it with
// synchronize, another stream with wait. An event that was never recorded does not block.
GGML_API ggml_backend_event_t ggml_backend_event_new(ggml_backend_dev_t device);
GGML_API void ggml_backend_event_free(ggml_backend_event_t event); // NULL is allowed
GGML_API void ggml_backend_event_record(ggml_backend_event_t event, ggml_backend_t backend);
GGML_API void ggml_backend_event_synchronize(ggml_backend_event_t event);
GGML_API void ggml_backend_event_wait(ggml_backend_t backend, ggml_backend_event_t event);

//
// Devices
//

enum ggml_backend_dev_type {
    GGML_BACKEND_DEVICE_TYPE_CPU,   // computes in system memory
    GGML_BACKEND_DEVICE_TYPE_GPU,   // has memory of its own
    GGML_BACKEND_DEVICE_TYPE_IGPU,  // a graphics processor that shares system memory
    GGML_BACKEND_DEVICE_TYPE_ACCEL, // helps the CPU backend with some operators
    GGML_BACKEND_DEVICE_TYPE_META, // several devices behind one face; named for compatibility, never reported
};

struct ggml_backend_dev_caps {
    bool async;                // work is queued and runs while the host goes on
    bool host_buffer;          // has a host buffer type that transfers faster
    bool buffer_from_host_ptr; // can use existing host memory as a buffer
    bool events;
    bool mmap_support; // weights may be loaded by mapping the file
};

struct ggml_backend_dev_props {
    const char * name;
    const char * description;
    size_t memory_free;  // bytes
    size_t memory_total; // bytes
    enum ggml_backend_dev_type type;
    // What tells two equal devices apart: for PCI "domain:bus:device.function" in lower case; NULL when
    // unknown.
    const char * device_id;
    struct ggml_backend_dev_caps caps;
};

GGML_API const char * ggml_backend_dev_name(ggml_backend_dev_t device);        // short: "CPU"
GGML_API const char * ggml_backend_dev_description(ggml_backend_dev_t device); // for people: the model name
GGML_API void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, size_t * total);
GGML_API enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device);
GGML_API void ggml_backend_dev_get_props(ggml_backend_dev_t device, struct ggml_backend_dev_props * props);
GGML_API ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device);

// A new stream on the device; params is the family's own, NULL for the defaults. NULL when it cannot be made.
GGML_API ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * params);

// The type of the device's memory; the type of host memory that transfers fast, or NULL; a buffer over memory
// the caller keeps alive, or NULL when the device cannot (max_tensor_size: bytes of the largest tensor in
// it).
GGML_API ggml_backend_buffer_type_t ggml_backend_dev_buffer_type(ggml_backend_dev_t device);
GGML_API ggml_backend_buffer_type_t ggml_backend_dev_host_buffer_type(ggml_backend_dev_t device);
GGML_API ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(ggml_backend_dev_t device, void * ptr,
                                                                     size_t size, size_t max_tensor_size);

// Can it run this node (judged by metadata only)? Can it use tensors in such buffers? Does it want the node
// even though the weights lie elsewhere and would have to be copied?
GGML_API bool ggml_backend_dev_supports_op(ggml_backend_dev_t device, const struct ggml_tensor * op);
GGML_API bool ggml_backend_dev_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft);
GGML_API bool ggml_backend_dev_offload_op(ggml_backend_dev_t device, const struct ggml_tensor * op);

//
// Registrations
//

GGML_API const char * ggml_backend_reg_name(ggml_backend_reg_t reg);
GGML_API size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg);
GGML_API ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index);

// A function of the family by name, to be cast to the type that belongs to the name; NULL when it has none.
GGML_API void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char * name);

// Types of functions with well-known names.
// "ggml_backend_split_buffer_type": weights whose rows are spread over devices in the given proportions
typedef ggml_backend_buffer_type_t (*ggml_backend_split_buffer_type_t)(int main_device,
                                                                       const float * tensor_split);
// "ggml_backend_set_n_threads"
typedef void (*ggml_backend_set_n_threads_t)(ggml_backend_t backend, int n_threads);
// "ggml_backend_dev_get_extra_bufts": further buffer types of a device, ended by NULL
typedef ggml_backend_buffer_type_t * (*ggml_backend_dev_get_extra_bufts_t)(ggml_backend_dev_t device);
// "ggml_backend_set_abort_callback"
typedef void (*ggml_backend_set_abort_callback_t)(ggml_backend_t backend, ggml_abort_callback abort_callback,
                                                  void * abort_callback_data);
// "ggml_backend_get_features": what the code was built for and found, ended by an entry with a NULL name
struct ggml_backend_feature {
    const char * name;
    const char * value;
};
typedef struct ggml_backend_feature * (*ggml_backend_get_features_t)(ggml_backend_reg_t reg);

//
// Registry: all families and devices of the process. Built-in families are in it from the first call on.
//

// Adds a family and its devices, or one device. What is listed already, or NULL, is ignored.
GGML_API void ggml_backend_register(ggml_backend_reg_t reg);
GGML_API void ggml_backend_device_register(ggml_backend_dev_t device);

// Enumeration in order of registration. By name: letter case does not matter; NULL when there is none.
GGML_API size_t ggml_backend_reg_count(void);
GGML_API ggml_backend_reg_t ggml_backend_reg_get(size_t index);
GGML_API ggml_backend_reg_t ggml_backend_reg_by_name(const char * name);

GGML_API size_t ggml_backend_dev_count(void);
GGML_API ggml_backend_dev_t ggml_backend_dev_get(size_t index);
GGML_API ggml_backend_dev_t ggml_backend_dev_by_name(const char * name);
GGML_API ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type);

// Find a device and make a backend on it. Best: the first GPU, else the first integrated GPU, else the CPU.
// NULL when there is no such device or it cannot start.
GGML_API ggml_backend_t ggml_backend_init_by_name(const char * name, const char * params);
GGML_API ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char * params);
GGML_API ggml_backend_t ggml_backend_init_best(void);

// Loads a family from a dynamic library and registers it; NULL, with a log line, when that fails. The library
// exports
//     ggml_backend_reg_t ggml_backend_plugin_v1(void);
// with C linkage, which returns its registration, or NULL when the family cannot run on this machine.
GGML_API ggml_backend_reg_t ggml_backend_load(const char * path);

// Takes a family and its devices out of the registry and closes its library if it was loaded. Nothing of it
// may be in use. NULL, and what is not registered, are ignored.
GGML_API void ggml_backend_unload(ggml_backend_reg_t reg);

// Loads every library named ggml-backend-*.so that lies in the program's folder, or in the given one, in
// order of their names. Finding nothing is not an error and says nothing.
GGML_API void ggml_backend_load_all(void);
GGML_API void ggml_backend_load_all_from_path(const char * dir_path);

//
// Copies and comparison
//

// A graph copied to another backend: everything that has storage there is in buffer, views in
// ctx_unallocated.
struct ggml_backend_graph_copy {
    ggml_backend_buffer_t buffer;
    struct ggml_context * ctx_allocated;
    struct ggml_context * ctx_unallocated;
    struct ggml_cgraph * graph;
};

// All members NULL when memory is short. The copy owns everything in it.
GGML_API struct ggml_backend_graph_copy ggml_backend_graph_copy(ggml_backend_t backend,
                                                                struct ggml_cgraph * graph);
GGML_API void ggml_backend_graph_copy_free(struct ggml_backend_graph_copy copy);

// t1 and t2: the same node computed by the first and the second backend. Returning false ends the comparison.
typedef bool (*ggml_backend_eval_callback)(int node_index, struct ggml_tensor * t1, struct ggml_tensor * t2,
                                           void * user_data);

// Computes the graph on backend1 and a copy of it on backend2 and calls back for each node, node by node; or,
// when num_test_nodes > 0, computes both as a whole and calls back only for those nodes. False: memory was
// short, a computation failed, or not a single one of the test nodes is in the graph.
GGML_API bool ggml_backend_compare_graph_backend(ggml_backend_t backend1, ggml_backend_t backend2,
                                                 struct ggml_cgraph * graph,
                                                 ggml_backend_eval_callback callback, void * user_data,
                                                 struct ggml_tensor const * const * test_nodes,
                                                 size_t num_test_nodes);

//
// Host memory, always available
//

// A buffer over existing memory, which must have the CPU buffer type's alignment and stays the caller's.
GGML_API ggml_backend_buffer_t ggml_backend_cpu_buffer_from_ptr(void * ptr, size_t size);
GGML_API ggml_backend_buffer_type_t ggml_backend_cpu_buffer_type(void);

#ifdef __cplusplus
}
#endif

#include "ggml-sched.h"
