// ggml.h - tensors, graph construction and element types; source-compatible with ggml's public header.
//
// Building a graph never touches tensor data and never runs a kernel: every operator below only allocates a
// result tensor in the context and records its operands. Computing is the backends' job.
//
// Conventions used in the comments:
// - [x, y, z, w] is a shape in memory order, ne[0] first. Missing dimensions are 1.
// - Broadcast: b repeats into a when every a->ne[i] is a multiple of b->ne[i]; coordinates wrap at b's size.
// - _inplace: the result is a view of the first operand, whose data is overwritten when the graph runs.
// - Ownership: tensors and graphs belong to the context they were created in and die with it.
// - Errors: operands whose shapes or types do not fit stop the program through ggml_abort with the name of
//   the operator and the shapes; a callback set by ggml_set_abort_callback sees the message first.
//
// Not part of this implementation: training (gradients, optimizers), state-space and recurrent operators.
// Their enumerators exist because the numbering is shared, their constructors do not.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Linkage of the public functions: visible when the runtime is a shared library, plain extern otherwise.
#ifdef GGML_SHARED
#    if defined(_WIN32) && !defined(__MINGW32__)
#        ifdef GGML_BUILD
#            define GGML_API __declspec(dllexport) extern
#        else
#            define GGML_API __declspec(dllimport) extern
#        endif
#    else
#        define GGML_API __attribute__((visibility("default"))) extern
#    endif
#else
#    define GGML_API extern
#endif

#if defined(__GNUC__)
#    define GGML_DEPRECATED(func, hint) func __attribute__((deprecated(hint)))
#elif defined(_MSC_VER)
#    define GGML_DEPRECATED(func, hint) __declspec(deprecated(hint)) func
#else
#    define GGML_DEPRECATED(func, hint) func
#endif

// Lets the compiler check printf-style arguments.
#if defined(__MINGW32__) && !defined(__clang__)
#    define GGML_ATTRIBUTE_FORMAT(...) __attribute__((format(gnu_printf, __VA_ARGS__)))
#elif defined(__GNUC__)
#    define GGML_ATTRIBUTE_FORMAT(...) __attribute__((format(printf, __VA_ARGS__)))
#else
#    define GGML_ATTRIBUTE_FORMAT(...)
#endif

#if defined(_WIN32) && !defined(_WIN32_WINNT)
#    define _WIN32_WINNT 0x0A00
#endif

// Container of the files that preceded GGUF.
#define GGML_FILE_MAGIC 0x67676d6c
#define GGML_FILE_VERSION 2

// Revision of the quantized block layouts; some files store version * factor + ftype.
#define GGML_QNT_VERSION 2
#define GGML_QNT_VERSION_FACTOR 1000

#define GGML_MAX_DIMS 4
#define GGML_MAX_PARAMS 2048
#define GGML_MAX_SRC 10
#define GGML_MAX_N_THREADS 512
#define GGML_MAX_OP_PARAMS 64 // bytes

// Part of the layout of ggml_tensor: a program that sets it must set it for the library as well.
#ifndef GGML_MAX_NAME
#    define GGML_MAX_NAME 64
#endif

#define GGML_DEFAULT_N_THREADS 4
#define GGML_DEFAULT_GRAPH_SIZE 2048

// Alignment of objects in a context. Never above what malloc gives on the platform.
#if UINTPTR_MAX == 0xFFFFFFFF
#    define GGML_MEM_ALIGN 4
#elif defined(__EMSCRIPTEN__)
#    define GGML_MEM_ALIGN 8
#else
#    define GGML_MEM_ALIGN 16
#endif

#define GGML_EXIT_SUCCESS 0
#define GGML_EXIT_ABORTED 1

// Modes of ggml_rope*. Bit 1: pairs lie half a head apart (NEOX); bit 3: several position axes.
#define GGML_ROPE_TYPE_NORMAL 0
#define GGML_ROPE_TYPE_NEOX 2
#define GGML_ROPE_TYPE_MROPE 8
#define GGML_ROPE_TYPE_VISION 24
#define GGML_ROPE_TYPE_IMROPE 40

#define GGML_MROPE_SECTIONS 4

#define GGML_UNUSED(x) (void)(x)
#ifdef __CUDACC__
template <typename... Args>
__host__ __device__ constexpr inline void ggml_unused_vars_impl(Args &&...) noexcept {}
#    define GGML_UNUSED_VARS(...) ggml_unused_vars_impl(__VA_ARGS__)
#else
#    define GGML_UNUSED_VARS(...)                                                                            \
        do {                                                                                                 \
            (void)sizeof((__VA_ARGS__, 0));                                                                  \
        } while (0)
#endif

// Smallest multiple of n >= x; n is a power of two.
#define GGML_PAD(x, n) (((x) + (n)-1) & ~((n)-1))

#ifdef __cplusplus
#    define GGML_NORETURN [[noreturn]]
#elif defined(_MSC_VER)
#    define GGML_NORETURN __declspec(noreturn)
#else
#    define GGML_NORETURN _Noreturn
#endif

#define GGML_ABORT(...) ggml_abort(__FILE__, __LINE__, __VA_ARGS__)
#define GGML_ASSERT(x)                                                                                       \
    if (!(x)) GGML_ABORT("GGML_ASSERT(%s) failed", #x)

// Stops in debug builds, an optimizer hint otherwise.
#ifndef NDEBUG
#    define GGML_UNREACHABLE() GGML_ABORT("unreachable statement was reached")
#elif defined(__GNUC__)
#    define GGML_UNREACHABLE() __builtin_unreachable()
#elif defined(_MSC_VER)
#    define GGML_UNREACHABLE() __assume(0)
#else
#    define GGML_UNREACHABLE() ((void)0)
#endif

#if defined(__GNUC__)
#    define GGML_RESTRICT __restrict__
#elif defined(_MSC_VER)
#    define GGML_RESTRICT __restrict
#elif defined(__cplusplus)
#    define GGML_RESTRICT
#else
#    define GGML_RESTRICT restrict
#endif

// Copies array[0..N-1] of a tensor into constants prefix0, prefix1, ...; zeros when the pointer is null.
#define GGML_TENSOR_LOCAL_I(type, prefix, pointer, array, i)                                                 \
    const type prefix##i = (pointer) ? (pointer)->array[i] : 0;                                              \
    GGML_UNUSED(prefix##i);
#define GGML_TENSOR_LOCALS_1(type, prefix, pointer, array)                                                   \
    GGML_TENSOR_LOCAL_I(type, prefix, pointer, array, 0)
#define GGML_TENSOR_LOCALS_2(type, prefix, pointer, array)                                                   \
    GGML_TENSOR_LOCALS_1(type, prefix, pointer, array)                                                       \
    GGML_TENSOR_LOCAL_I(type, prefix, pointer, array, 1)
#define GGML_TENSOR_LOCALS_3(type, prefix, pointer, array)                                                   \
    GGML_TENSOR_LOCALS_2(type, prefix, pointer, array)                                                       \
    GGML_TENSOR_LOCAL_I(type, prefix, pointer, array, 2)
#define GGML_TENSOR_LOCALS(type, prefix, pointer, array)                                                     \
    GGML_TENSOR_LOCALS_3(type, prefix, pointer, array)                                                       \
    GGML_TENSOR_LOCAL_I(type, prefix, pointer, array, 3)

// Sizes and strides: ne0x nb0x of src0, ne1x nb1x of src1, ne2x nb2x of src2, nex nbx of dst.
#define GGML_TENSOR_UNARY_OP_LOCALS                                                                          \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne)                                                               \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb)                                                                \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne)                                                                 \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)
#define GGML_TENSOR_BINARY_OP_LOCALS01                                                                       \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne)                                                               \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb)                                                                \
    GGML_TENSOR_LOCALS(int64_t, ne1, src1, ne)                                                               \
    GGML_TENSOR_LOCALS(size_t, nb1, src1, nb)
#define GGML_TENSOR_BINARY_OP_LOCALS                                                                         \
    GGML_TENSOR_BINARY_OP_LOCALS01                                                                           \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne)                                                                 \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)
#define GGML_TENSOR_TERNARY_OP_LOCALS                                                                        \
    GGML_TENSOR_BINARY_OP_LOCALS                                                                             \
    GGML_TENSOR_LOCALS(int64_t, ne2, src2, ne)                                                               \
    GGML_TENSOR_LOCALS(size_t, nb2, src2, nb)

#ifdef __cplusplus
extern "C" {
#endif

// ---- stopping and status ----------------------------------------------------------------------------------

// Receives the finished message of ggml_abort; the program still ends when it returns.
typedef void (*ggml_abort_callback_t)(const char * error_message);

// Null restores the default (message and backtrace on stderr). Returns the callback that was set before.
GGML_API ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback);

GGML_NORETURN GGML_ATTRIBUTE_FORMAT(3, 4) GGML_API
    void ggml_abort(const char * file, int line, const char * fmt, ...);

enum ggml_status {
    GGML_STATUS_ALLOC_FAILED = -2,
    GGML_STATUS_FAILED = -1,
    GGML_STATUS_SUCCESS = 0,
    GGML_STATUS_ABORTED = 1,
};

GGML_API const char * ggml_status_to_string(enum ggml_status status);

// ---- 16-bit floats ----------------------------------------------------------------------------------------

// IEEE 754 binary16 bits. Conversions round to nearest even; the row forms take element counts.
typedef uint16_t ggml_fp16_t;
GGML_API float ggml_fp16_to_fp32(ggml_fp16_t);
GGML_API ggml_fp16_t ggml_fp32_to_fp16(float);
GGML_API void ggml_fp16_to_fp32_row(const ggml_fp16_t *, float *, int64_t);
GGML_API void ggml_fp32_to_fp16_row(const float *, ggml_fp16_t *, int64_t);

// bfloat16: the upper half of a binary32, rounded to nearest even. A NaN stays a NaN.
typedef struct {
    uint16_t bits;
} ggml_bf16_t;
GGML_API ggml_bf16_t ggml_fp32_to_bf16(float);
GGML_API float ggml_bf16_to_fp32(ggml_bf16_t);
GGML_API void ggml_bf16_to_fp32_row(const ggml_bf16_t *, float *, int64_t);
// Scalar, for comparison with the next one.
GGML_API void ggml_fp32_to_bf16_row_ref(const float *, ggml_bf16_t *, int64_t);
GGML_API void ggml_fp32_to_bf16_row(const float *, ggml_bf16_t *, int64_t);

// ---- enumerations and structures --------------------------------------------------------------------------

struct ggml_object;
struct ggml_context;
struct ggml_cgraph;

// Element types. The numbers are stored in files: they never change, and gaps are ids that were retired.
// F32 F16 BF16 F64 I* Q4_0..Q8_1 and Q*_K hold data here; the others are recognised and named.
enum ggml_type {
    // clang-format off
    GGML_TYPE_F32 = 0, GGML_TYPE_F16 = 1, GGML_TYPE_Q4_0 = 2, GGML_TYPE_Q4_1 = 3, GGML_TYPE_Q5_0 = 6,
    GGML_TYPE_Q5_1 = 7, GGML_TYPE_Q8_0 = 8, GGML_TYPE_Q8_1 = 9, GGML_TYPE_Q2_K = 10, GGML_TYPE_Q3_K = 11,
    GGML_TYPE_Q4_K = 12, GGML_TYPE_Q5_K = 13, GGML_TYPE_Q6_K = 14, GGML_TYPE_Q8_K = 15,
    GGML_TYPE_IQ2_XXS = 16, GGML_TYPE_IQ2_XS = 17, GGML_TYPE_IQ3_XXS = 18, GGML_TYPE_IQ1_S = 19,
    GGML_TYPE_IQ4_NL = 20, GGML_TYPE_IQ3_S = 21, GGML_TYPE_IQ2_S = 22, GGML_TYPE_IQ4_XS = 23,
    GGML_TYPE_I8 = 24, GGML_TYPE_I16 = 25, GGML_TYPE_I32 = 26, GGML_TYPE_I64 = 27, GGML_TYPE_F64 = 28,
    GGML_TYPE_IQ1_M = 29, GGML_TYPE_BF16 = 30, GGML_TYPE_TQ1_0 = 34, GGML_TYPE_TQ2_0 = 35,
    GGML_TYPE_MXFP4 = 39, GGML_TYPE_NVFP4 = 40, GGML_TYPE_Q1_0 = 41, GGML_TYPE_Q2_0 = 42,
    GGML_TYPE_COUNT = 43,
    // clang-format on
};

// Accumulation precision asked of matrix products and attention, kept in op_params.
enum ggml_prec { GGML_PREC_DEFAULT = 0, GGML_PREC_F32 = 10 };

enum ggml_op_hint {
    GGML_HINT_NONE = 0,
    GGML_HINT_SRC0_IS_HADAMARD = 1, // a fast Walsh-Hadamard transform gives the same product
};

// What most matrices of a model file are; one-dimensional tensors usually stay F32.
enum ggml_ftype {
    // clang-format off
    GGML_FTYPE_UNKNOWN = -1, GGML_FTYPE_ALL_F32 = 0, GGML_FTYPE_MOSTLY_F16 = 1, GGML_FTYPE_MOSTLY_Q4_0 = 2,
    GGML_FTYPE_MOSTLY_Q4_1 = 3, GGML_FTYPE_MOSTLY_Q4_1_SOME_F16 = 4, GGML_FTYPE_MOSTLY_Q8_0 = 7,
    GGML_FTYPE_MOSTLY_Q5_0 = 8, GGML_FTYPE_MOSTLY_Q5_1 = 9, GGML_FTYPE_MOSTLY_Q2_K = 10,
    GGML_FTYPE_MOSTLY_Q3_K = 11, GGML_FTYPE_MOSTLY_Q4_K = 12, GGML_FTYPE_MOSTLY_Q5_K = 13,
    GGML_FTYPE_MOSTLY_Q6_K = 14, GGML_FTYPE_MOSTLY_IQ2_XXS = 15, GGML_FTYPE_MOSTLY_IQ2_XS = 16,
    GGML_FTYPE_MOSTLY_IQ3_XXS = 17, GGML_FTYPE_MOSTLY_IQ1_S = 18, GGML_FTYPE_MOSTLY_IQ4_NL = 19,
    GGML_FTYPE_MOSTLY_IQ3_S = 20, GGML_FTYPE_MOSTLY_IQ2_S = 21, GGML_FTYPE_MOSTLY_IQ4_XS = 22,
    GGML_FTYPE_MOSTLY_IQ1_M = 23, GGML_FTYPE_MOSTLY_BF16 = 24, GGML_FTYPE_MOSTLY_MXFP4 = 25,
    GGML_FTYPE_MOSTLY_NVFP4 = 26, GGML_FTYPE_MOSTLY_Q1_0 = 27, GGML_FTYPE_MOSTLY_Q2_0 = 28,
    // clang-format on
};

// Operators. Numbers are positions: nothing is inserted or removed here without following ggml.
enum ggml_op {
    // clang-format off
    GGML_OP_NONE = 0, GGML_OP_DUP, GGML_OP_ADD, GGML_OP_ADD_ID, GGML_OP_ADD1, GGML_OP_ACC, GGML_OP_SUB,
    GGML_OP_MUL, GGML_OP_DIV, GGML_OP_SQR, GGML_OP_SQRT, GGML_OP_LOG, GGML_OP_SIN, GGML_OP_COS, GGML_OP_SUM,
    GGML_OP_SUM_ROWS, GGML_OP_CUMSUM, GGML_OP_MEAN, GGML_OP_ARGMAX, GGML_OP_COUNT_EQUAL, GGML_OP_REPEAT,
    GGML_OP_REPEAT_BACK, GGML_OP_CONCAT, GGML_OP_SILU_BACK, GGML_OP_NORM, GGML_OP_RMS_NORM,
    GGML_OP_RMS_NORM_BACK, GGML_OP_GROUP_NORM, GGML_OP_L2_NORM, GGML_OP_MUL_MAT, GGML_OP_MUL_MAT_ID,
    GGML_OP_OUT_PROD, GGML_OP_SCALE, GGML_OP_SET, GGML_OP_CPY, GGML_OP_CONT, GGML_OP_RESHAPE, GGML_OP_VIEW,
    GGML_OP_PERMUTE, GGML_OP_TRANSPOSE, GGML_OP_GET_ROWS, GGML_OP_GET_ROWS_BACK, GGML_OP_SET_ROWS,
    GGML_OP_DIAG, GGML_OP_DIAG_MASK_INF, GGML_OP_DIAG_MASK_ZERO, GGML_OP_SOFT_MAX, GGML_OP_SOFT_MAX_BACK,
    GGML_OP_ROPE, GGML_OP_ROPE_BACK, GGML_OP_CLAMP, GGML_OP_CONV_TRANSPOSE_1D, GGML_OP_IM2COL,
    GGML_OP_IM2COL_BACK, GGML_OP_IM2COL_3D, GGML_OP_COL2IM_1D, GGML_OP_CONV_2D, GGML_OP_CONV_3D,
    GGML_OP_CONV_2D_DW, GGML_OP_CONV_TRANSPOSE_2D, GGML_OP_POOL_1D, GGML_OP_POOL_2D, GGML_OP_POOL_2D_BACK,
    GGML_OP_UPSCALE, GGML_OP_PAD, GGML_OP_PAD_REFLECT_1D, GGML_OP_ROLL, GGML_OP_ARANGE,
    GGML_OP_TIMESTEP_EMBEDDING, GGML_OP_ARGSORT, GGML_OP_TOP_K, GGML_OP_LEAKY_RELU, GGML_OP_TRI,
    GGML_OP_FILL, GGML_OP_FLASH_ATTN_EXT, GGML_OP_FLASH_ATTN_BACK, GGML_OP_SSM_CONV, GGML_OP_SSM_SCAN,
    GGML_OP_WIN_PART, GGML_OP_WIN_UNPART, GGML_OP_GET_REL_POS, GGML_OP_ADD_REL_POS, GGML_OP_RWKV_WKV6,
    GGML_OP_GATED_LINEAR_ATTN, GGML_OP_RWKV_WKV7, GGML_OP_SOLVE_TRI, GGML_OP_GATED_DELTA_NET,
    GGML_OP_LIGHTNING_INDEXER, GGML_OP_DSV4_HC_COMB, GGML_OP_DSV4_HC_PRE, GGML_OP_DSV4_HC_POST,
    GGML_OP_UNARY, GGML_OP_MAP_CUSTOM1, GGML_OP_MAP_CUSTOM2, GGML_OP_MAP_CUSTOM3, GGML_OP_CUSTOM,
    GGML_OP_CROSS_ENTROPY_LOSS, GGML_OP_CROSS_ENTROPY_LOSS_BACK, GGML_OP_OPT_STEP_ADAMW,
    GGML_OP_OPT_STEP_SGD, GGML_OP_GLU, GGML_OP_COUNT,
    // clang-format on
};

// Functions of GGML_OP_UNARY.
enum ggml_unary_op {
    // clang-format off
    GGML_UNARY_OP_ABS, GGML_UNARY_OP_SGN, GGML_UNARY_OP_NEG, GGML_UNARY_OP_STEP, GGML_UNARY_OP_TANH,
    GGML_UNARY_OP_ELU, GGML_UNARY_OP_RELU, GGML_UNARY_OP_SIGMOID, GGML_UNARY_OP_GELU,
    GGML_UNARY_OP_GELU_QUICK, GGML_UNARY_OP_SILU, GGML_UNARY_OP_HARDSWISH, GGML_UNARY_OP_HARDSIGMOID,
    GGML_UNARY_OP_EXP, GGML_UNARY_OP_EXPM1, GGML_UNARY_OP_SOFTPLUS, GGML_UNARY_OP_GELU_ERF,
    GGML_UNARY_OP_XIELU, GGML_UNARY_OP_FLOOR, GGML_UNARY_OP_CEIL, GGML_UNARY_OP_ROUND, GGML_UNARY_OP_TRUNC,
    GGML_UNARY_OP_COUNT,
    // clang-format on
};

// Gates of GGML_OP_GLU.
enum ggml_glu_op {
    // clang-format off
    GGML_GLU_OP_REGLU, GGML_GLU_OP_GEGLU, GGML_GLU_OP_SWIGLU, GGML_GLU_OP_SWIGLU_OAI, GGML_GLU_OP_GEGLU_ERF,
    GGML_GLU_OP_GEGLU_QUICK, GGML_GLU_OP_COUNT,
    // clang-format on
};

enum ggml_object_type { GGML_OBJECT_TYPE_TENSOR, GGML_OBJECT_TYPE_GRAPH, GGML_OBJECT_TYPE_WORK_BUFFER };

enum ggml_log_level {
    GGML_LOG_LEVEL_NONE = 0,
    GGML_LOG_LEVEL_DEBUG = 1,
    GGML_LOG_LEVEL_INFO = 2,
    GGML_LOG_LEVEL_WARN = 3,
    GGML_LOG_LEVEL_ERROR = 4,
    GGML_LOG_LEVEL_CONT = 5, // more text for the line before
};

// Bits of ggml_tensor::flags.
enum ggml_tensor_flag {
    GGML_TENSOR_FLAG_INPUT = 1,    // filled by the caller: its memory is never shared before it is read
    GGML_TENSOR_FLAG_OUTPUT = 2,   // read by the caller: its memory is never reused within the graph
    GGML_TENSOR_FLAG_PARAM = 4,    // trainable (kept for programs that mark their weights)
    GGML_TENSOR_FLAG_LOSS = 8,     // loss term (likewise)
    GGML_TENSOR_FLAG_COMPUTE = 16, // node whose value is wanted; see ggml_build_forward_select
};

// Triangle that ggml_tri keeps; _DIAG includes the diagonal.
enum ggml_tri_type {
    GGML_TRI_TYPE_UPPER_DIAG = 0,
    GGML_TRI_TYPE_UPPER = 1,
    GGML_TRI_TYPE_LOWER_DIAG = 2,
    GGML_TRI_TYPE_LOWER = 3
};

struct ggml_init_params {
    size_t mem_size;   // bytes of the arena
    void * mem_buffer; // caller's memory, aligned to GGML_MEM_ALIGN, or null: the context allocates its own
    bool no_alloc;     // true: tensors are metadata only, their data is placed later by a backend allocator
};

// A tensor, or a node of a graph: operator, parameters and operands. Fields are public for reading; write
// them through the functions below.
struct ggml_tensor {
    enum ggml_type type;
    struct ggml_backend_buffer * buffer; // where data lives; null for memory of the context
    int64_t ne[GGML_MAX_DIMS];           // elements along each dimension
    size_t nb[GGML_MAX_DIMS];            // stride in bytes. nb[0] is one block, nb[1] one row when contiguous
    enum ggml_op op;
    int32_t op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)]; // layout depends on op
    int32_t flags;                                           // ggml_tensor_flag
    struct ggml_tensor * src[GGML_MAX_SRC];
    struct ggml_tensor * view_src; // owner of the memory this tensor looks into, never itself a view
    size_t view_offs;              // bytes from the owner's data
    void * data;
    char name[GGML_MAX_NAME];
    void * extra; // for backends
    char padding[8];
};

static const size_t GGML_TENSOR_SIZE = sizeof(struct ggml_tensor);

// Polled while a graph runs; true stops it, and the run returns GGML_STATUS_ABORTED.
typedef bool (*ggml_abort_callback)(void * data);

// ---- library ----------------------------------------------------------------------------------------------

typedef uint8_t ggml_guid[16];
typedef ggml_guid * ggml_guid_t;
GGML_API bool ggml_guid_matches(ggml_guid_t guid_a, ggml_guid_t guid_b);

// Static strings: release number, and the source revision the library was built from.
GGML_API const char * ggml_version(void);
GGML_API const char * ggml_commit(void);

// Monotonic time since ggml_time_init, which may be called once at start.
GGML_API void ggml_time_init(void);
GGML_API int64_t ggml_time_ms(void);
GGML_API int64_t ggml_time_us(void);
// Processor clock ticks of this program, and how many pass per millisecond.
GGML_API int64_t ggml_cycles(void);
GGML_API int64_t ggml_cycles_per_ms(void);

// fopen for UTF-8 paths on every platform. Null on failure.
GGML_API FILE * ggml_fopen(const char * fname, const char * mode);

// Receives every log line. Null sends lines to stderr again.
typedef void (*ggml_log_callback)(enum ggml_log_level level, const char * text, void * user_data);
GGML_API void ggml_log_get(ggml_log_callback * log_callback, void ** user_data);
GGML_API void ggml_log_set(ggml_log_callback log_callback, void * user_data);

// Arena listing on the log, for debugging.
GGML_API void ggml_print_object(const struct ggml_object * obj);
GGML_API void ggml_print_objects(const struct ggml_context * ctx);

// ---- questions about types and tensors --------------------------------------------------------------------

GGML_API int64_t ggml_nelements(const struct ggml_tensor * tensor);
GGML_API int64_t ggml_nrows(const struct ggml_tensor * tensor); // ne1*ne2*ne3
GGML_API size_t ggml_nbytes(const struct ggml_tensor * tensor); // from first to last element, gaps included
GGML_API size_t ggml_nbytes_pad(const struct ggml_tensor * tensor); // ... rounded up to GGML_MEM_ALIGN

GGML_API int64_t ggml_blck_size(enum ggml_type type);           // elements per block, 1 for plain types
GGML_API size_t ggml_type_size(enum ggml_type type);            // bytes per block
GGML_API size_t ggml_row_size(enum ggml_type type, int64_t ne); // bytes of ne elements, whole blocks only

GGML_DEPRECATED(GGML_API double ggml_type_sizef(enum ggml_type type), // bytes per element
                "use ggml_row_size() instead");

GGML_API const char * ggml_type_name(enum ggml_type type);        // "f16", "q4_K"; "none" for unknown ids
GGML_API const char * ggml_op_name(enum ggml_op op);              // "MUL_MAT"
GGML_API const char * ggml_op_symbol(enum ggml_op op);            // "X*Y"
GGML_API const char * ggml_unary_op_name(enum ggml_unary_op op);  // "SILU"
GGML_API const char * ggml_glu_op_name(enum ggml_glu_op op);      // "SWIGLU"
GGML_API const char * ggml_op_desc(const struct ggml_tensor * t); // unary or glu function where there is one
GGML_API size_t ggml_element_size(const struct ggml_tensor * tensor); // bytes per block of its type
GGML_API bool ggml_is_quantized(enum ggml_type type);

// Type of the matrices in a file of this kind; GGML_TYPE_COUNT when that is not one type.
GGML_API enum ggml_type ggml_ftype_to_ggml_type(enum ggml_ftype ftype);

GGML_API bool ggml_is_transposed(const struct ggml_tensor * tensor); // nb0 > nb1
GGML_API bool ggml_is_permuted(const struct ggml_tensor * tensor);   // strides do not ascend
GGML_API bool ggml_is_empty(const struct ggml_tensor * tensor);      // some dimension is 0
GGML_API bool ggml_is_view(const struct ggml_tensor * tensor);
// At most 0, 1, 2, 3 leading dimensions other than 1.
GGML_API bool ggml_is_scalar(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_vector(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_matrix(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_3d(const struct ggml_tensor * tensor);
GGML_API int ggml_n_dims(const struct ggml_tensor * tensor); // last dimension above 1, at least 1

// No gaps and no permutation: a flat index reaches every element. The numbered forms allow gaps after the
// first n dimensions, as long as the dimensions beyond follow each other without gaps.
GGML_API bool ggml_is_contiguous(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_0(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_1(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_2(const struct ggml_tensor * tensor);
// Contiguous within the first n dimensions, whatever the rest is.
GGML_API bool ggml_is_contiguous_to_1(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_to_2(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_to_3(const struct ggml_tensor * tensor);
// One block of memory without gaps; dimensions may be permuted.
GGML_API bool ggml_is_contiguously_allocated(const struct ggml_tensor * tensor);
// Channels innermost in memory: stored [C, W, H, N], permuted to be seen as [W, H, C, N].
GGML_API bool ggml_is_contiguous_channels(const struct ggml_tensor * tensor);
// Elements of each row follow each other (or there is one block per row).
GGML_API bool ggml_is_contiguous_rows(const struct ggml_tensor * tensor);
GGML_API bool ggml_are_same_shape(const struct ggml_tensor * t0, const struct ggml_tensor * t1);
GGML_API bool ggml_are_same_stride(const struct ggml_tensor * t0, const struct ggml_tensor * t1);

// Whether t0 broadcasts to t1's shape. An empty t0 only does to an empty t1.
GGML_API bool ggml_can_repeat(const struct ggml_tensor * t0, const struct ggml_tensor * t1);

// Arena bytes of one tensor without data.
GGML_API size_t ggml_tensor_overhead(void);

// False, with a line in the log, when a block scale is not finite or the size is not whole blocks.
GGML_API bool ggml_validate_row_data(enum ggml_type type, const void * data, size_t nbytes);

// ---- contexts and tensors ---------------------------------------------------------------------------------

// Null when the arena cannot be allocated. Free with ggml_free; a null context is fine there.
GGML_API struct ggml_context * ggml_init(struct ggml_init_params params);
GGML_API void ggml_reset(struct ggml_context * ctx); // forgets every object and keeps the memory
GGML_API void ggml_free(struct ggml_context * ctx);

GGML_API size_t ggml_used_mem(const struct ggml_context * ctx); // bytes
GGML_API bool ggml_get_no_alloc(struct ggml_context * ctx);
GGML_API void ggml_set_no_alloc(struct ggml_context * ctx, bool no_alloc);
GGML_API void * ggml_get_mem_buffer(const struct ggml_context * ctx);
GGML_API size_t ggml_get_mem_size(const struct ggml_context * ctx);
GGML_API size_t ggml_get_max_tensor_size(const struct ggml_context * ctx); // largest ggml_nbytes

// Contiguous tensors. A context that is full stops the program with the size that was needed.
GGML_API struct ggml_tensor * ggml_new_tensor(struct ggml_context * ctx, enum ggml_type type, int n_dims,
                                              const int64_t * ne);
GGML_API struct ggml_tensor * ggml_new_tensor_1d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0);
GGML_API struct ggml_tensor * ggml_new_tensor_2d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                                 int64_t ne1);
GGML_API struct ggml_tensor * ggml_new_tensor_3d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                                 int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_new_tensor_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                                 int64_t ne1, int64_t ne2, int64_t ne3);

// Uninitialised bytes of the arena.
GGML_API void * ggml_new_buffer(struct ggml_context * ctx, size_t nbytes);

// Same type and shape: with memory of its own, and as a view with the same strides.
GGML_API struct ggml_tensor * ggml_dup_tensor(struct ggml_context * ctx, const struct ggml_tensor * src);
GGML_API struct ggml_tensor * ggml_view_tensor(struct ggml_context * ctx, struct ggml_tensor * src);

// Tensors of a context in order of creation, and the first of a name. Null at the end.
GGML_API struct ggml_tensor * ggml_get_first_tensor(const struct ggml_context * ctx);
GGML_API struct ggml_tensor * ggml_get_next_tensor(const struct ggml_context * ctx,
                                                   struct ggml_tensor * tensor);
GGML_API struct ggml_tensor * ggml_get_tensor(struct ggml_context * ctx, const char * name);

// Coordinates of the i-th element, dimension 0 fastest. Outputs may be null.
GGML_API void ggml_unravel_index(const struct ggml_tensor * tensor, int64_t i, int64_t * i0, int64_t * i1,
                                 int64_t * i2, int64_t * i3);

// Function of a GGML_OP_UNARY or GGML_OP_GLU node.
GGML_API enum ggml_unary_op ggml_get_unary_op(const struct ggml_tensor * tensor);
GGML_API enum ggml_glu_op ggml_get_glu_op(const struct ggml_tensor * tensor);

GGML_API void * ggml_get_data(const struct ggml_tensor * tensor);
GGML_API float * ggml_get_data_f32(const struct ggml_tensor * tensor);    // F32 tensors only
GGML_API struct ggml_tensor * ggml_set_zero(struct ggml_tensor * tensor); // fills data with zero bytes now

// Names are cut to GGML_MAX_NAME - 1 bytes. The setters return their tensor.
GGML_API const char * ggml_get_name(const struct ggml_tensor * tensor);
GGML_API struct ggml_tensor * ggml_set_name(struct ggml_tensor * tensor, const char * name);
GGML_ATTRIBUTE_FORMAT(2, 3)
GGML_API struct ggml_tensor * ggml_format_name(struct ggml_tensor * tensor, const char * fmt, ...);

// Set a ggml_tensor_flag.
GGML_API void ggml_set_input(struct ggml_tensor * tensor);
GGML_API void ggml_set_output(struct ggml_tensor * tensor);
GGML_API void ggml_set_param(struct ggml_tensor * tensor);
GGML_API void ggml_set_loss(struct ggml_tensor * tensor);

// ---- copies -----------------------------------------------------------------------------------------------

// Copy of a, contiguous.
GGML_API struct ggml_tensor * ggml_dup(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_dup_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

// Writes a into b, converting the type; equal element counts, the shapes may differ. Result: view of b.
GGML_API struct ggml_tensor * ggml_cpy(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b);

// Copy in another type. Floats lose their fraction when they become integers.
GGML_API struct ggml_tensor * ggml_cast(struct ggml_context * ctx, struct ggml_tensor * a,
                                        enum ggml_type type);

// Contiguous copy, optionally with another shape of the same element count.
GGML_API struct ggml_tensor * ggml_cont(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cont_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0);
GGML_API struct ggml_tensor * ggml_cont_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           int64_t ne1);
GGML_API struct ggml_tensor * ggml_cont_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_cont_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           int64_t ne1, int64_t ne2, int64_t ne3);

// a with b written into the region at offset with strides nb1 nb2 nb3 (bytes; dimension 0 is dense).
GGML_API struct ggml_tensor * ggml_set(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                       size_t offset);
GGML_API struct ggml_tensor * ggml_set_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                               size_t offset);
GGML_API struct ggml_tensor * ggml_set_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                          struct ggml_tensor * b, size_t offset);
GGML_API struct ggml_tensor * ggml_set_1d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, size_t offset);
GGML_API struct ggml_tensor * ggml_set_2d(struct ggml_context * ctx, struct ggml_tensor * a,
                                          struct ggml_tensor * b, size_t nb1, size_t offset);
GGML_API struct ggml_tensor * ggml_set_2d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, size_t nb1, size_t offset);

// Like ggml_set, but adds b to the region. F32.
GGML_API struct ggml_tensor * ggml_acc(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                       size_t offset);
GGML_API struct ggml_tensor * ggml_acc_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                               size_t offset);

// ---- views: no data moves ---------------------------------------------------------------------------------

// Same elements in another shape; a is contiguous. ggml_reshape takes the shape of b.
GGML_API struct ggml_tensor * ggml_reshape(struct ggml_context * ctx, struct ggml_tensor * a,
                                           struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_reshape_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0);
GGML_API struct ggml_tensor * ggml_reshape_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                              int64_t ne1);
GGML_API struct ggml_tensor * ggml_reshape_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                              int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_reshape_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                              int64_t ne1, int64_t ne2, int64_t ne3);

// Window into a. Offset and strides in bytes; the window must lie within a's memory.
GGML_API struct ggml_tensor * ggml_view_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           size_t offset);
GGML_API struct ggml_tensor * ggml_view_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           int64_t ne1, size_t nb1, size_t offset);
GGML_API struct ggml_tensor * ggml_view_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           int64_t ne1, int64_t ne2, size_t nb1, size_t nb2, size_t offset);
GGML_API struct ggml_tensor * ggml_view_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           int64_t ne1, int64_t ne2, int64_t ne3, size_t nb1, size_t nb2,
                                           size_t nb3, size_t offset);

// Dimension i of a becomes dimension axis_i of the result. Transpose swaps dimensions 0 and 1.
GGML_API struct ggml_tensor * ggml_permute(struct ggml_context * ctx, struct ggml_tensor * a, int axis0,
                                           int axis1, int axis2, int axis3);
GGML_API struct ggml_tensor * ggml_transpose(struct ggml_context * ctx, struct ggml_tensor * a);

// ---- arithmetic -------------------------------------------------------------------------------------------

// Element by element, b broadcast to a.
GGML_API struct ggml_tensor * ggml_add(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_add_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_sub(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_sub_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_mul(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_mul_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_div(struct ggml_context * ctx, struct ggml_tensor * a,
                                       struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_div_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);

// a + b with a result of the given type; a is quantized, F16 or BF16.
GGML_API struct ggml_tensor * ggml_add_cast(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b, enum ggml_type type);

// a [n, e, t] + row ids[j, k] (I32 [e, t]) of b [n, rows].
GGML_API struct ggml_tensor * ggml_add_id(struct ggml_context * ctx, struct ggml_tensor * a,
                                          struct ggml_tensor * b, struct ggml_tensor * ids);

// Adds the scalar tensor b.
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_add1(struct ggml_context * ctx, struct ggml_tensor * a,
                                                        struct ggml_tensor * b),
                "use ggml_add instead");
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_add1_inplace(struct ggml_context * ctx,
                                                                struct ggml_tensor * a,
                                                                struct ggml_tensor * b),
                "use ggml_add_inplace instead");

// s * a, and s * a + b with constants; a has no gaps except behind its rows.
GGML_API struct ggml_tensor * ggml_scale(struct ggml_context * ctx, struct ggml_tensor * a, float s);
GGML_API struct ggml_tensor * ggml_scale_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s);
GGML_API struct ggml_tensor * ggml_scale_bias(struct ggml_context * ctx, struct ggml_tensor * a, float s,
                                              float b);
GGML_API struct ggml_tensor * ggml_scale_bias_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                      float s, float b);

// Limits elements to [min, max]. Always in place: the result is a view of a.
GGML_API struct ggml_tensor * ggml_clamp(struct ggml_context * ctx, struct ggml_tensor * a, float min,
                                         float max);

// ---- functions of one element -----------------------------------------------------------------------------

// step: 1 where x > 0, else 0. round: halves away from zero. expm1: exact near 0. sin, cos: radians.
// softplus: log(1 + exp(x)). elu: x above 0, exp(x) - 1 below. silu: x * sigmoid(x).
// gelu: x * Phi(x) by the tanh formula; gelu_erf: by erf; gelu_quick: x * sigmoid(1.702 x).
GGML_API struct ggml_tensor * ggml_sqr(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqr_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqrt(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqrt_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_log(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_log_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_exp(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_exp_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_expm1(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_expm1_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sin(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sin_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cos(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cos_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_abs(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_abs_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sgn(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sgn_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_neg(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_neg_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_step(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_step_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_floor(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_floor_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_ceil(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_ceil_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_round(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_round_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_trunc(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_trunc_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_tanh(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_tanh_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sigmoid(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sigmoid_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_softplus(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_softplus_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_elu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_elu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_relu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_relu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_erf(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_erf_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_quick(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_quick_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_silu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_silu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
// x * min(max(x + 3, 0), 6) / 6, and the same without the factor x.
GGML_API struct ggml_tensor * ggml_hardswish(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_hardsigmoid(struct ggml_context * ctx, struct ggml_tensor * a);
// x where x > 0, else slope * x.
GGML_API struct ggml_tensor * ggml_leaky_relu(struct ggml_context * ctx, struct ggml_tensor * a,
                                              float negative_slope, bool inplace);
// xIELU: quadratic for x > 0 with weight softplus(alpha_p), exponential below with beta + softplus(alpha_n).
GGML_API struct ggml_tensor * ggml_xielu(struct ggml_context * ctx, struct ggml_tensor * a, float alpha_n,
                                         float alpha_p, float beta, float eps);
// By number. Rows of a are contiguous.
GGML_API struct ggml_tensor * ggml_unary(struct ggml_context * ctx, struct ggml_tensor * a,
                                         enum ggml_unary_op op);
GGML_API struct ggml_tensor * ggml_unary_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 enum ggml_unary_op op);

// ---- gated units ------------------------------------------------------------------------------------------

// a [2n, ...] -> [n, ...]: f(first half of each row) * second half; _swapped applies f to the second half.
GGML_API struct ggml_tensor * ggml_glu(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_glu_op op,
                                       bool swapped);
GGML_API struct ggml_tensor * ggml_reglu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_reglu_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_swiglu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_swiglu_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_erf(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_erf_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_quick(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_quick_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
// f(a) * b with both of one shape and type.
GGML_API struct ggml_tensor * ggml_glu_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                             struct ggml_tensor * b, enum ggml_glu_op op);
GGML_API struct ggml_tensor * ggml_reglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_swiglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_erf_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                                   struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_quick_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * b);
// g * sigmoid(alpha g) * (1 + u) with g = min(a, limit) and u = b limited to [-limit, limit].
GGML_API struct ggml_tensor * ggml_swiglu_oai(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, float alpha, float limit);

// ---- reductions and normalization: along dimension 0 unless said otherwise --------------------------------

GGML_API struct ggml_tensor * ggml_sum(struct ggml_context * ctx,
                                       struct ggml_tensor * a); // of everything -> [1]
GGML_API struct ggml_tensor * ggml_sum_rows(struct ggml_context * ctx,
                                            struct ggml_tensor * a); // -> [1, y, z, w]
GGML_API struct ggml_tensor * ggml_mean(struct ggml_context * ctx,
                                        struct ggml_tensor * a); // -> F32 [1, y, z, w]
GGML_API struct ggml_tensor * ggml_cumsum(struct ggml_context * ctx,
                                          struct ggml_tensor * a); // running sums, same shape
GGML_API struct ggml_tensor * ggml_argmax(struct ggml_context * ctx,
                                          struct ggml_tensor * a); // a matrix -> I32 [y]
// How many elements of a and b agree -> I64 [1].
GGML_API struct ggml_tensor * ggml_count_equal(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);

// (x - mean) / sqrt(variance + eps).
GGML_API struct ggml_tensor * ggml_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
// x / sqrt(mean of squares + eps).
GGML_API struct ggml_tensor * ggml_rms_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_rms_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                    float eps);
// Like ggml_norm over [x, y, channels of one group]; dimension 2 is split into n_groups groups.
GGML_API struct ggml_tensor * ggml_group_norm(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups,
                                              float eps);
GGML_API struct ggml_tensor * ggml_group_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                      int n_groups, float eps);
// x / max(euclidean length, eps).
GGML_API struct ggml_tensor * ggml_l2_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_l2_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                   float eps);

GGML_API struct ggml_tensor * ggml_soft_max(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_soft_max_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
// softmax(scale * a + slope * mask). mask: null, or F16/F32 [x, >= y, z', w'] with z % z' == 0, w % w' == 0.
// The ALiBi slope depends on dimension 2 (the head) and max_bias; it is 1 when max_bias is 0.
GGML_API struct ggml_tensor * ggml_soft_max_ext(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * mask, float scale, float max_bias);
GGML_API struct ggml_tensor * ggml_soft_max_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                        struct ggml_tensor * mask, float scale,
                                                        float max_bias);
// Adds one logit per head (F32 [z]) to the sums of a soft_max node. Null removes it.
GGML_API void ggml_soft_max_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks);

// ---- matrix products --------------------------------------------------------------------------------------

// a [k, n, z, w] x b [k, m, z', w'] -> F32 [n, m, z', w']: rows of a times rows of b. a repeats along z', w'.
GGML_API struct ggml_tensor * ggml_mul_mat(struct ggml_context * ctx, struct ggml_tensor * a,
                                           struct ggml_tensor * b);
GGML_API void ggml_mul_mat_set_prec(struct ggml_tensor * a, enum ggml_prec prec); // of a mul_mat node
GGML_API void ggml_mul_mat_set_hint(struct ggml_tensor * a, enum ggml_op_hint hint);

// Products with chosen matrices: as [k, n, matrices], b [k, u, t], ids I32 [used, t] -> F32 [n, used, t].
// Column i of token t takes matrix ids[i, t] and column i % u of b; used % u == 0.
GGML_API struct ggml_tensor * ggml_mul_mat_id(struct ggml_context * ctx, struct ggml_tensor * as,
                                              struct ggml_tensor * b, struct ggml_tensor * ids);

// a [m, k, z, w] and b [p, k, z', w'] -> F32 [m, p, z', w']: sum over k of outer products. a repeats.
GGML_API struct ggml_tensor * ggml_out_prod(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b);

// ---- rows, masks, shapes ----------------------------------------------------------------------------------

// a [n, rows, z, w], b I32 [r, z, w] -> [n, r, z, w]; I32 when a is I32, F32 otherwise.
GGML_API struct ggml_tensor * ggml_get_rows(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b);
// Writes the rows of b (F32 or F16 [n, r, z, w]) into rows c (I64/I32 [r, z', w'], repeated) of a [n, rows,
// z, w]. Result: view of a. Two equal indices leave either row.
GGML_API struct ggml_tensor * ggml_set_rows(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b, struct ggml_tensor * c);

// a [n, 1, z, w] on the diagonal of zeros -> [n, n, z, w].
GGML_API struct ggml_tensor * ggml_diag(struct ggml_context * ctx, struct ggml_tensor * a);
// Row y of a: elements x > n_past + y become -infinity or 0.
GGML_API struct ggml_tensor * ggml_diag_mask_inf(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_inf_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                         int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_zero(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_zero_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                          int n_past);
// Zeroes everything outside a triangle of square matrices.
GGML_API struct ggml_tensor * ggml_tri(struct ggml_context * ctx, struct ggml_tensor * a,
                                       enum ggml_tri_type type);

// a tiled to the shape of b, or to a shape its sizes divide.
GGML_API struct ggml_tensor * ggml_repeat(struct ggml_context * ctx, struct ggml_tensor * a,
                                          struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_repeat_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                             int64_t ne1, int64_t ne2, int64_t ne3);

// a followed by b along dimension dim; equal types and other sizes.
GGML_API struct ggml_tensor * ggml_concat(struct ggml_context * ctx, struct ggml_tensor * a,
                                          struct ggml_tensor * b, int dim);

// p_i more elements at the end of dimension i, or lp_i before and rp_i after: zeros, or values from the other
// end (_circular). Negative numbers crop.
GGML_API struct ggml_tensor * ggml_pad(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1,
                                       int p2, int p3);
GGML_API struct ggml_tensor * ggml_pad_circular(struct ggml_context * ctx, struct ggml_tensor * a, int p0,
                                                int p1, int p2, int p3);
GGML_API struct ggml_tensor * ggml_pad_ext(struct ggml_context * ctx, struct ggml_tensor * a, int lp0,
                                           int rp0, int lp1, int rp1, int lp2, int rp2, int lp3, int rp3);
GGML_API struct ggml_tensor * ggml_pad_ext_circular(struct ggml_context * ctx, struct ggml_tensor * a,
                                                    int lp0, int rp0, int lp1, int rp1, int lp2, int rp2,
                                                    int lp3, int rp3);
// Mirrors dimension 0 around its first and last element: p0 more before, p1 after, each below ne[0].
GGML_API struct ggml_tensor * ggml_pad_reflect_1d(struct ggml_context * ctx, struct ggml_tensor * a, int p0,
                                                  int p1);
// Cyclic shift: element i of a dimension moves to (i + shift) mod size. |shift| < size.
GGML_API struct ggml_tensor * ggml_roll(struct ggml_context * ctx, struct ggml_tensor * a, int shift0,
                                        int shift1, int shift2, int shift3);

enum ggml_sort_order { GGML_SORT_ORDER_ASC, GGML_SORT_ORDER_DESC };
// I32 indices that sort each row; the first k of the descending ones; the k largest in no particular order.
GGML_API struct ggml_tensor * ggml_argsort(struct ggml_context * ctx, struct ggml_tensor * a,
                                           enum ggml_sort_order order);
GGML_API struct ggml_tensor * ggml_argsort_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k);
GGML_API struct ggml_tensor * ggml_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k);

// ---- values from nothing ----------------------------------------------------------------------------------

// F32 start, start + step, ... below stop.
GGML_API struct ggml_tensor * ggml_arange(struct ggml_context * ctx, float start, float stop, float step);
// a's shape, every element c.
GGML_API struct ggml_tensor * ggml_fill(struct ggml_context * ctx, struct ggml_tensor * a, float c);
GGML_API struct ggml_tensor * ggml_fill_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float c);
// timesteps [n] -> F32 [dim, n]: cosines, then sines of t * max_period^(-2i/dim); a last 0 when dim is odd.
GGML_API struct ggml_tensor *
ggml_timestep_embedding(struct ggml_context * ctx, struct ggml_tensor * timesteps, int dim, int max_period);

// ---- rotary position embedding ----------------------------------------------------------------------------

// a [head, heads, tokens, w], b I32 [tokens] positions. The first n_dims elements of each head are rotated in
// pairs: (2i, 2i + 1) in NORMAL mode, (i, i + n_dims/2) in NEOX mode, by b * freq_base^(-2i/n_dims) / c[i].
// c: null or F32 [n_dims/2]. YaRN is off with freq_scale 1, attn_factor 1 and the others 0.
GGML_API struct ggml_tensor * ggml_rope(struct ggml_context * ctx, struct ggml_tensor * a,
                                        struct ggml_tensor * b, int n_dims, int mode);
GGML_API struct ggml_tensor * ggml_rope_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * b, int n_dims, int mode);
GGML_API struct ggml_tensor * ggml_rope_ext(struct ggml_context * ctx, struct ggml_tensor * a,
                                            struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                            int mode, int n_ctx_orig, float freq_base, float freq_scale,
                                            float ext_factor, float attn_factor, float beta_fast,
                                            float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                    struct ggml_tensor * b, struct ggml_tensor * c,
                                                    int n_dims, int mode, int n_ctx_orig, float freq_base,
                                                    float freq_scale, float ext_factor, float attn_factor,
                                                    float beta_fast, float beta_slow);
// Several position axes: b I32 [4 * tokens], one axis after the other; sections counts the pairs of each
// axis. MROPE: runs of pairs per axis; IMROPE: axes interleaved; VISION: two axes, frequencies restart per
// axis, n_dims is half a head and the number of pairs (and of c). Pairs are always NEOX ones.
GGML_API struct ggml_tensor * ggml_rope_multi(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                              int sections[GGML_MROPE_SECTIONS], int mode, int n_ctx_orig,
                                              float freq_base, float freq_scale, float ext_factor,
                                              float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_multi_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                      struct ggml_tensor * b, struct ggml_tensor * c,
                                                      int n_dims, int sections[GGML_MROPE_SECTIONS], int mode,
                                                      int n_ctx_orig, float freq_base, float freq_scale,
                                                      float ext_factor, float attn_factor, float beta_fast,
                                                      float beta_slow);
// Makes a rope node (not VISION) rotate elements n_offs .. n_offs + n_dims - 1. Returns a.
GGML_API struct ggml_tensor * ggml_rope_set_offset(struct ggml_tensor * a, int n_offs);
// First and last pair of YaRN's ramp between extrapolation and interpolation.
GGML_API void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast,
                                       float beta_slow, float dims[2]);

// ---- convolution ------------------------------------------------------------------------------------------
// s stride, p padding with zeros on both sides, d dilation; 0 is width, 1 height, 2 depth. An output
// dimension is (in + 2p - d (k - 1) - 1) / s + 1. Operators that convolve directly leave out kernel elements
// over padding; by im2col they are multiplied by zero, which is NaN for infinite or NaN ones.

// Patches of b as rows for ggml_mul_mat with kernel a (only its shape matters).
// 2D: a [kw, kh, c, o], b [w, h, c, n] -> [kw*kh*c, ow, oh, n]. 1D: a [k, c, o], b [w, c, n] -> [k*c, ow, n].
GGML_API struct ggml_tensor * ggml_im2col(struct ggml_context * ctx, struct ggml_tensor * a,
                                          struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0,
                                          int d1, bool is_2D, enum ggml_type dst_type);
// a [kw, kh, kd, c*o], b [w, h, d, c*n] -> [kw*kh*kd*c, ow, oh, od*n]; IC is c.
GGML_API struct ggml_tensor * ggml_im2col_3d(struct ggml_context * ctx, struct ggml_tensor * a,
                                             struct ggml_tensor * b, int64_t IC, int s0, int s1, int s2,
                                             int p0, int p1, int p2, int d0, int d1, int d2,
                                             enum ggml_type dst_type);
// Adds columns a [k*oc, t] into a signal [(t - 1) s0 + k - 2 p0, oc].
GGML_API struct ggml_tensor * ggml_col2im_1d(struct ggml_context * ctx, struct ggml_tensor * a, int s0,
                                             int oc, int p0);

// a [k, c, o], b [w, c, n] -> [ow, o, n]. _ph: padding k/2. _dw: depthwise, a [k, 1, c], b [w, c] -> [ow, c].
GGML_API struct ggml_tensor * ggml_conv_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                           struct ggml_tensor * b, int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_1d_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, int s, int d);
GGML_API struct ggml_tensor * ggml_conv_1d_dw(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_1d_dw_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b, int s0, int d0);
// a [k, o, c], b [w, c] -> F32 [(w - 1) s0 + k, o]. p0 is 0 and d0 is 1.
GGML_API struct ggml_tensor * ggml_conv_transpose_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * b, int s0, int p0, int d0);

// a [kw, kh, c, o], b [w, h, c, n] -> [ow, oh, o, n] by im2col and mul_mat, or by one operator (_direct).
GGML_API struct ggml_tensor * ggml_conv_2d(struct ggml_context * ctx, struct ggml_tensor * a,
                                           struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0,
                                           int d1);
GGML_API struct ggml_tensor * ggml_conv_2d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, int s0, int s1, int p0, int p1,
                                                  int d0, int d1);
GGML_API struct ggml_tensor * ggml_conv_2d_sk_p0(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b); // stride = kernel, no padding
GGML_API struct ggml_tensor * ggml_conv_2d_s1_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b); // stride 1, padding k/2
// Depthwise: a [kw, kh, 1, c], b [w, h, c, n] -> [ow, oh, c, n].
GGML_API struct ggml_tensor * ggml_conv_2d_dw(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0,
                                              int d1);
GGML_API struct ggml_tensor * ggml_conv_2d_dw_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * b, int stride0, int stride1,
                                                     int pad0, int pad1, int dilation0, int dilation1);
// a [kw, kh, o, c], b [w, h, c, n] -> F32 [(w - 1) stride + kw, (h - 1) stride + kh, o, n].
GGML_API struct ggml_tensor * ggml_conv_transpose_2d_p0(struct ggml_context * ctx, struct ggml_tensor * a,
                                                        struct ggml_tensor * b, int stride);

// a [kw, kh, kd, c*o], b [w, h, d, c*n] -> [ow, oh, od, o*n].
GGML_API struct ggml_tensor * ggml_conv_3d(struct ggml_context * ctx, struct ggml_tensor * a,
                                           struct ggml_tensor * b, int64_t IC, int s0, int s1, int s2, int p0,
                                           int p1, int p2, int d0, int d1, int d2);
GGML_API struct ggml_tensor * ggml_conv_3d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, int s0, int s1, int s2, int p0,
                                                  int p1, int p2, int d0, int d1, int d2, int n_channels,
                                                  int n_batch, int n_channels_out);

enum ggml_op_pool { GGML_OP_POOL_MAX, GGML_OP_POOL_AVG, GGML_OP_POOL_COUNT };
// Maximum or average over windows of k elements; an output dimension is (in + 2p - k) / s + 1.
GGML_API struct ggml_tensor * ggml_pool_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                           enum ggml_op_pool op, int k0, int s0, int p0);
GGML_API struct ggml_tensor * ggml_pool_2d(struct ggml_context * ctx, struct ggml_tensor * a,
                                           enum ggml_op_pool op, int k0, int k1, int s0, int s1, float p0,
                                           float p1);

enum ggml_scale_mode {
    GGML_SCALE_MODE_NEAREST = 0,
    GGML_SCALE_MODE_BILINEAR = 1,
    GGML_SCALE_MODE_BICUBIC = 2,
    GGML_SCALE_MODE_COUNT
};
enum ggml_scale_flag {
    GGML_SCALE_FLAG_ALIGN_CORNERS = (1 << 8), // first and last samples coincide
    GGML_SCALE_FLAG_ANTIALIAS = (1 << 9),     // widens the bilinear kernel when the image shrinks
};
// Width and height times a factor; or any size, with mode = ggml_scale_mode | flags.
GGML_API struct ggml_tensor * ggml_upscale(struct ggml_context * ctx, struct ggml_tensor * a,
                                           int scale_factor, enum ggml_scale_mode mode);
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_upscale_ext(struct ggml_context * ctx,
                                                               struct ggml_tensor * a, int ne0, int ne1,
                                                               int ne2, int ne3, enum ggml_scale_mode mode),
                "use ggml_interpolate instead");
GGML_API struct ggml_tensor * ggml_interpolate(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                               int64_t ne1, int64_t ne2, int64_t ne3, uint32_t mode);

// ---- attention --------------------------------------------------------------------------------------------

// q [dk, tokens, heads, w], k [dk, kv, kv_heads, w], v [dv, kv, kv_heads, w] and mask, null or F16
// [kv, >= tokens, h', w'] -> F32 [dv, heads, tokens, w]. Note the order. kv_heads and h' divide heads.
// softmax(scale * q.k + slope * mask) v; logits pass c * tanh(x / c) first when logit_softcap c is not 0.
GGML_API struct ggml_tensor * ggml_flash_attn_ext(struct ggml_context * ctx, struct ggml_tensor * q,
                                                  struct ggml_tensor * k, struct ggml_tensor * v,
                                                  struct ggml_tensor * mask, float scale, float max_bias,
                                                  float logit_softcap);
GGML_API void ggml_flash_attn_ext_set_prec(struct ggml_tensor * a, enum ggml_prec prec);
GGML_API enum ggml_prec ggml_flash_attn_ext_get_prec(const struct ggml_tensor * a);
// One more logit per head (F32 [heads]) that takes weight but has no value. Null removes it.
GGML_API void ggml_flash_attn_ext_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks);

// Windows of w x w positions, padded with zeros: a [c, x, y] -> [c, w, w, n]; and back to [c, w0, h0].
GGML_API struct ggml_tensor * ggml_win_part(struct ggml_context * ctx, struct ggml_tensor * a, int w);
GGML_API struct ggml_tensor * ggml_win_unpart(struct ggml_context * ctx, struct ggml_tensor * a, int w0,
                                              int h0, int w);
// Row kh - 1 - k + q of a [c, 2 max(qh, kh) - 1] for query q and key k -> [c, kh, qh]; qh == kh.
GGML_API struct ggml_tensor * ggml_get_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a, int qh,
                                               int kh);
// Adds decomposed position terms of width (pw) and height (ph) to attention logits a.
GGML_API struct ggml_tensor * ggml_add_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * pw, struct ggml_tensor * ph);
GGML_API struct ggml_tensor * ggml_add_rel_pos_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       struct ggml_tensor * pw, struct ggml_tensor * ph);

// ---- operators of the caller, run on the CPU --------------------------------------------------------------

// Called by each of nth tasks with its number ith; they share the work among themselves.
typedef void (*ggml_custom1_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth,
                                  void * userdata);
typedef void (*ggml_custom2_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a,
                                  const struct ggml_tensor * b, int ith, int nth, void * userdata);
typedef void (*ggml_custom3_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a,
                                  const struct ggml_tensor * b, const struct ggml_tensor * c, int ith,
                                  int nth, void * userdata);
typedef void (*ggml_custom_op_t)(struct ggml_tensor * dst, int ith, int nth, void * userdata);

// n_tasks: as many as there are threads.
#define GGML_N_TASKS_MAX (-1)

// Result of a's shape and type. userdata must outlive the graph.
GGML_API struct ggml_tensor * ggml_map_custom1(struct ggml_context * ctx, struct ggml_tensor * a,
                                               ggml_custom1_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom1_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       ggml_custom1_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom2(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks,
                                               void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom2_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       struct ggml_tensor * b, ggml_custom2_op_t fun,
                                                       int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom3(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, struct ggml_tensor * c,
                                               ggml_custom3_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom3_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       struct ggml_tensor * b, struct ggml_tensor * c,
                                                       ggml_custom3_op_t fun, int n_tasks, void * userdata);
// Any result shape and up to GGML_MAX_SRC operands (one less in place), found in dst->src.
GGML_API struct ggml_tensor * ggml_custom_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                             int64_t ne1, int64_t ne2, int64_t ne3,
                                             struct ggml_tensor ** args, int n_args, ggml_custom_op_t fun,
                                             int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_custom_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor ** args, int n_args,
                                                  ggml_custom_op_t fun, int n_tasks, void * userdata);

// ---- graphs -----------------------------------------------------------------------------------------------

// Empty graph with room for size nodes and as many leafs (GGML_DEFAULT_GRAPH_SIZE in the first form). grads
// reserves room that this implementation does not use.
GGML_API struct ggml_cgraph * ggml_new_graph(struct ggml_context * ctx);
GGML_API struct ggml_cgraph * ggml_new_graph_custom(struct ggml_context * ctx, size_t size, bool grads);
GGML_API struct ggml_cgraph * ggml_graph_dup(struct ggml_context * ctx, struct ggml_cgraph * cgraph,
                                             bool force_grads);
GGML_API void ggml_graph_cpy(struct ggml_cgraph * src, struct ggml_cgraph * dst); // dst is large enough
GGML_API void ggml_graph_clear(struct ggml_cgraph * cgraph);

// Appends tensor and all it depends on that is not in the graph yet: operands before users, src[0] first.
GGML_API void ggml_build_forward_expand(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);
// The same order, without marking the new nodes for computing; a later expand that reaches them does that.
GGML_API void ggml_build_forward_order(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);
// Appends all tensors and marks only tensors[idx], which it returns: one graph for several alternatives.
GGML_API struct ggml_tensor *
ggml_build_forward_select(struct ggml_cgraph * cgraph, struct ggml_tensor ** tensors, int n_tensors, int idx);

GGML_API int ggml_graph_size(struct ggml_cgraph * cgraph);
GGML_API int ggml_graph_n_nodes(struct ggml_cgraph * cgraph);
GGML_API struct ggml_tensor * ggml_graph_node(struct ggml_cgraph * cgraph, int i); // negative: from the end
GGML_API struct ggml_tensor ** ggml_graph_nodes(struct ggml_cgraph * cgraph);
GGML_API void ggml_graph_add_node(struct ggml_cgraph * cgraph,
                                  struct ggml_tensor * tensor); // no operands added
GGML_API struct ggml_tensor * ggml_graph_get_tensor(const struct ggml_cgraph * cgraph, const char * name);

// Arena bytes of a graph.
GGML_API size_t ggml_graph_overhead(void);
GGML_API size_t ggml_graph_overhead_custom(size_t size, bool grads);

// Node list on the log, and a Graphviz file. gb marks nodes of another graph and may be null.
GGML_API void ggml_graph_print(const struct ggml_cgraph * cgraph);
GGML_API void ggml_graph_dump_dot(const struct ggml_cgraph * gb, const struct ggml_cgraph * cgraph,
                                  const char * filename);

// ---- quantization -----------------------------------------------------------------------------------------

// Tables some types need; built on demand. Thread-safe.
GGML_API void ggml_quantize_init(enum ggml_type type);
GGML_API void ggml_quantize_free(void);
GGML_API bool ggml_quantize_requires_imatrix(enum ggml_type type);
// Quantizes nrows rows of n_per_row floats to dst, both starting at element start (whole rows). imatrix: null
// or the importance of each of the n_per_row columns. Returns the bytes written.
GGML_API size_t ggml_quantize_chunk(enum ggml_type type, const float * src, void * dst, int64_t start,
                                    int64_t nrows, int64_t n_per_row, const float * imatrix);

typedef void (*ggml_to_float_t)(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k);
typedef void (*ggml_from_float_t)(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k);

struct ggml_type_traits {
    const char * type_name;
    int64_t blck_size;
    int64_t blck_size_interleave; // blocks interleaved by a backend; 0 here
    size_t type_size;
    bool is_quantized;
    ggml_to_float_t to_float;         // null: plain data that needs none, or cannot be read
    ggml_from_float_t from_float_ref; // null: cannot be written from floats
};

// Null for numbers outside the enumeration; retired ids have blck_size 0.
GGML_API const struct ggml_type_traits * ggml_get_type_traits(enum ggml_type type);

// ---- thread pools: parameters here, pools in ggml-cpu.h ---------------------------------------------------

enum ggml_sched_priority {
    GGML_SCHED_PRIO_LOW = -1,
    GGML_SCHED_PRIO_NORMAL,
    GGML_SCHED_PRIO_MEDIUM,
    GGML_SCHED_PRIO_HIGH,
    GGML_SCHED_PRIO_REALTIME
};

struct ggml_threadpool_params {
    bool cpumask[GGML_MAX_N_THREADS]; // cores to use; none set: the system decides
    int n_threads;
    enum ggml_sched_priority prio;
    uint32_t poll;   // 0 sleeps while idle, 100 spins
    bool strict_cpu; // one core of the mask per thread
    bool paused;     // start paused
};

struct ggml_threadpool;
typedef struct ggml_threadpool * ggml_threadpool_t;

GGML_API struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads);
GGML_API void ggml_threadpool_params_init(struct ggml_threadpool_params * p, int n_threads);
GGML_API bool ggml_threadpool_params_match(const struct ggml_threadpool_params * p0,
                                           const struct ggml_threadpool_params * p1);

#ifdef __cplusplus
}
#endif
