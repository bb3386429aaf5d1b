// The CPU backend: direct element access, compute plans without a backend object, thread pools, and the
// functions that set up a CPU backend.
//
// Promise: results do not depend on the number of threads. Element access (get/set) needs tensors in host
// memory.
#pragma once

#include "ggml-backend.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

//
// Compute plans
//

// How a graph is to be run by ggml_graph_compute. Made by ggml_graph_plan; the caller then provides work_data
// and may set the callback fields.
struct ggml_cplan {
    size_t work_size;    // bytes of scratch memory the graph needs
    uint8_t * work_data; // work_size bytes owned by the caller; may stay NULL when work_size is 0

    int n_threads;
    struct ggml_threadpool * threadpool; // NULL: a team for this call only

    // Polled between nodes; true ends the computation with GGML_STATUS_ABORTED.
    ggml_abort_callback abort_callback;
    void * abort_callback_data;

    bool use_ref; // run the plain reference implementation of every operator
};

//
// Element access
//

// A one-element tensor holding the value, in a context with its own storage.
GGML_BACKEND_API struct ggml_tensor * ggml_new_i32(struct ggml_context * ctx, int32_t value);
GGML_BACKEND_API struct ggml_tensor * ggml_new_f32(struct ggml_context * ctx, float value);

// Every element becomes the value, converted to the tensor's type. Return the tensor.
GGML_BACKEND_API struct ggml_tensor * ggml_set_i32(struct ggml_tensor * tensor, int32_t value);
GGML_BACKEND_API struct ggml_tensor * ggml_set_f32(struct ggml_tensor * tensor, float value);

// One element, by position counted with dimension 0 fastest (_1d) or by coordinates (_nd). Not for quantized
// types. Values are converted to and from the tensor's type; reading past the end is the caller's mistake.
GGML_BACKEND_API int32_t ggml_get_i32_1d(const struct ggml_tensor * tensor, int i);
GGML_BACKEND_API void ggml_set_i32_1d(const struct ggml_tensor * tensor, int i, int32_t value);
GGML_BACKEND_API int32_t ggml_get_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3);
GGML_BACKEND_API void ggml_set_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3,
                                      int32_t value);

GGML_BACKEND_API float ggml_get_f32_1d(const struct ggml_tensor * tensor, int i);
GGML_BACKEND_API void ggml_set_f32_1d(const struct ggml_tensor * tensor, int i, float value);
GGML_BACKEND_API float ggml_get_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3);
GGML_BACKEND_API void ggml_set_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3,
                                      float value);

//
// Thread pools
//

// A pool outlives the plans and backends that use it and is freed by whoever made it. One graph at a time
// runs on a pool. A paused pool's threads sleep until resume.
GGML_BACKEND_API struct ggml_threadpool * ggml_threadpool_new(struct ggml_threadpool_params * params);
GGML_BACKEND_API void ggml_threadpool_free(struct ggml_threadpool * threadpool);
GGML_BACKEND_API int ggml_threadpool_get_n_threads(struct ggml_threadpool * threadpool);
GGML_BACKEND_API void ggml_threadpool_pause(struct ggml_threadpool * threadpool);
GGML_BACKEND_API void ggml_threadpool_resume(struct ggml_threadpool * threadpool);

//
// Running a graph without a backend object
//

// Works out threads and scratch size. n_threads <= 0: GGML_DEFAULT_N_THREADS. The plan is a value; it is
// valid for this graph as long as the graph and the shapes in it do not change.
GGML_BACKEND_API struct ggml_cplan ggml_graph_plan(const struct ggml_cgraph * cgraph, int n_threads,
                                                   struct ggml_threadpool * threadpool);

// Runs the graph; returns when done. All tensors must have host storage.
GGML_BACKEND_API enum ggml_status ggml_graph_compute(struct ggml_cgraph * cgraph, struct ggml_cplan * cplan);

// Plan and run, with the scratch memory taken from the context (which must have room for it).
GGML_BACKEND_API enum ggml_status ggml_graph_compute_with_ctx(struct ggml_context * ctx,
                                                              struct ggml_cgraph * cgraph, int n_threads);

//
// Type traits of the CPU backend, for tests and benchmarks
//

// Dot product of n elements into *s. nrc > 1 computes nrc x nrc results with row strides bs, bx, by in bytes.
typedef void (*ggml_vec_dot_t)(int n, float * GGML_RESTRICT s, size_t bs, const void * GGML_RESTRICT x,
                               size_t bx, const void * GGML_RESTRICT y, size_t by, int nrc);

struct ggml_type_traits_cpu {
    ggml_from_float_t from_float; // NULL: this type cannot be written from floats
    ggml_vec_dot_t vec_dot;       // x of this type with y of vec_dot_type; NULL: none
    enum ggml_type vec_dot_type;
    int64_t nrows; // largest nrc vec_dot accepts
};

GGML_BACKEND_API const struct ggml_type_traits_cpu * ggml_get_type_traits_cpu(enum ggml_type type);

// Prepares tables and chooses code for this processor. Called by everything that needs it; harmless to
// repeat, safe from several threads.
GGML_BACKEND_API void ggml_cpu_init(void);

//
// What this processor offers: 1 or 0, whatever GGML_CPU_ISA says. 0 for features of other architectures.
//

GGML_BACKEND_API int ggml_cpu_has_sse3(void);
GGML_BACKEND_API int ggml_cpu_has_ssse3(void);
GGML_BACKEND_API int ggml_cpu_has_avx(void);
GGML_BACKEND_API int ggml_cpu_has_avx_vnni(void);
GGML_BACKEND_API int ggml_cpu_has_avx2(void);
GGML_BACKEND_API int ggml_cpu_has_bmi2(void);
GGML_BACKEND_API int ggml_cpu_has_f16c(void);
GGML_BACKEND_API int ggml_cpu_has_fma(void);
GGML_BACKEND_API int ggml_cpu_has_avx512(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_vbmi(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_vnni(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_bf16(void);
GGML_BACKEND_API int ggml_cpu_has_neon(void);
GGML_BACKEND_API int ggml_cpu_has_arm_fma(void);
GGML_BACKEND_API int ggml_cpu_has_dotprod(void);

//
// CPU backend
//

// A synchronous backend computing in host memory. NULL when out of memory. Free with ggml_backend_free.
GGML_BACKEND_API ggml_backend_t ggml_backend_cpu_init(void);

// True for backends made here; false for any other and for NULL. The functions below need a CPU backend.
GGML_BACKEND_API bool ggml_backend_is_cpu(ggml_backend_t backend);

GGML_BACKEND_API void ggml_backend_cpu_set_n_threads(ggml_backend_t backend_cpu, int n_threads);

// The pool stays the caller's. NULL: back to threads of the backend's own.
GGML_BACKEND_API void ggml_backend_cpu_set_threadpool(ggml_backend_t backend_cpu,
                                                      ggml_threadpool_t threadpool);

// Polled while computing; true ends the computation with GGML_STATUS_ABORTED. NULL removes it.
GGML_BACKEND_API void ggml_backend_cpu_set_abort_callback(ggml_backend_t backend_cpu,
                                                          ggml_abort_callback abort_callback,
                                                          void * abort_callback_data);

GGML_BACKEND_API void ggml_backend_cpu_set_use_ref(ggml_backend_t backend_cpu, bool use_ref);

// The registry entry of this backend, always the same object.
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_cpu_reg(void);

// Conversion of n values, from the first array to the second, which do not overlap.
GGML_BACKEND_API void ggml_cpu_fp32_to_fp32(const float *, float *, int64_t);
GGML_BACKEND_API void ggml_cpu_fp32_to_i32(const float *, int32_t *, int64_t);
GGML_BACKEND_API void ggml_cpu_fp32_to_fp16(const float *, ggml_fp16_t *, int64_t);
GGML_BACKEND_API void ggml_cpu_fp16_to_fp32(const ggml_fp16_t *, float *, int64_t);
GGML_BACKEND_API void ggml_cpu_fp32_to_bf16(const float *, ggml_bf16_t *, int64_t);
GGML_BACKEND_API void ggml_cpu_bf16_to_fp32(const ggml_bf16_t *, float *, int64_t);

#ifdef __cplusplus
}
#endif
