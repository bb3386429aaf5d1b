// Operators, kernels and fusion rules that an application adds from outside.
//
//   operator   a versioned name, a fixed number of attribute bytes and a function that infers the output's
//   type
//              and shape. Its nodes are ordinary tensors of any graph.
//   kernel     code for one device that runs one node: of a registered operator, or of a built-in one in
//   place
//              of the device's own implementation.
//   fusion     code for one device that replaces several consecutive nodes. Registered like a kernel, with
//              `match`.
//
// The scheduler and the backends treat them as their own: capability queries count them, the scheduler
// selects them, reserves their workspace, leaves out the storage of fused intermediates and reuses prepared
// state from execution to execution. Direct backend computation (ggml_backend_graph_compute*) runs kernels of
// single nodes and never fuses. ggml_graph_compute and ggml_backend_graph_plan_* know nothing of extensions.
//
// Order of things: register, then ask devices or allocate graphs. The first capability query, graph
// allocation or direct computation of a device freezes what is registered for it; later registrations are
// refused with GGML_EXT_REASON_LATE. Nothing is ever unregistered: callbacks and user data stay valid until
// all graphs and backends that may use them are gone.
//
// Threads: registration may happen on any thread. Callbacks run on the thread that registers nothing but
// plans or executes: the one calling the scheduler or the backend. Several schedulers may call the same
// callback at the same time, so callbacks must not change shared data without a lock.
//
// Errors: functions return a status, and the calling thread can ask for the reason and its words
// (ggml_ext_last_reason, ggml_ext_last_message). Nothing here aborts, and nothing half-registered remains.
#pragma once

#include "ggml-backend.h"
#include "ggml-ext-reasons.h"

#ifdef __cplusplus
extern "C" {
#endif

//
// Status and reasons
//

enum ggml_ext_status {
    GGML_EXT_SUCCESS = 0,
    GGML_EXT_INVALID = 1,   // an argument or descriptor is wrong
    GGML_EXT_DUPLICATE = 2, // the name is taken
    GGML_EXT_LATE = 3,      // the device is frozen
    GGML_EXT_REFUSED = 4,   // well-formed, but not allowed here; nothing was changed
    GGML_EXT_NO_MEMORY = 5,
    GGML_EXT_FAILED = 6, // something that was started did not succeed
};

enum ggml_ext_reason {
#define GGML_EXT_REASON_ENUMERATOR(id, word, sentence) GGML_EXT_REASON_##id,
    GGML_EXT_REASONS(GGML_EXT_REASON_ENUMERATOR)
#undef GGML_EXT_REASON_ENUMERATOR
        GGML_EXT_REASON_COUNT
};

// "fusion.external_use", and its sentence. Static strings; "unknown" for a number outside the list.
GGML_API const char * ggml_ext_reason_name(enum ggml_ext_reason reason);
GGML_API const char * ggml_ext_reason_text(enum ggml_ext_reason reason);

// What the last call of a ggml_ext function on this thread that did not succeed had to say. The text names
// what was refused and the numbers involved; it is valid until the thread's next ggml_ext call.
GGML_API enum ggml_ext_reason ggml_ext_last_reason(void);
GGML_API const char * ggml_ext_last_message(void);

// Where a callback leaves its reason. NULL when nobody asks, which is the normal case and costs nothing.
typedef struct ggml_ext_why * ggml_ext_why_t;

// Notes why the answer is no and returns false, or 0 for the second form, so that callbacks can write
// `return ggml_ext_refuse(why, "K = %lld is no multiple of 32", k);`. n_matched: nodes that fitted before the
// first that did not. The text is copied.
GGML_ATTRIBUTE_FORMAT(2, 3)
GGML_API bool ggml_ext_refuse(ggml_ext_why_t why, const char * format, ...);
GGML_ATTRIBUTE_FORMAT(3, 4)
GGML_API int ggml_ext_refuse_match(ggml_ext_why_t why, int n_matched, const char * format, ...);

//
// Operators
//

// Bytes of op_params left for attributes.
#define GGML_EXT_MAX_ATTR_SIZE 40

typedef struct ggml_ext_op * ggml_ext_op_t; // lives as long as the process

// Type and shape of an output. ne in ggml order, ne[0] first.
struct ggml_ext_output {
    enum ggml_type type;
    int64_t ne[GGML_MAX_DIMS];
};

// Metadata only: inputs may have no storage. inputs[n_inputs] may hold NULL for those left out. attrs:
// attr_size bytes, not aligned (memcpy them); NULL when attr_size is 0. output starts as F32 [1, 1, 1, 1].
// False: these inputs do not fit; say why with ggml_ext_refuse.
typedef bool (*ggml_ext_infer_t)(const struct ggml_tensor * const * inputs, int n_inputs, const void * attrs,
                                 struct ggml_ext_output * output, ggml_ext_why_t why, void * user_data);

// Computes a node in plain host memory, readably: the specification of the operator, used to check kernels
// and never to run graphs. node and its inputs have host addresses; the output is contiguous. NULL: there is
// none.
typedef enum ggml_status (*ggml_ext_reference_t)(struct ggml_tensor * node, void * user_data);

struct ggml_ext_op_desc {
    size_t struct_size; // sizeof(struct ggml_ext_op_desc)
    const char * name;  // "vendor.words.v1", copied; unique in the process
    size_t attr_size;   // 0 .. GGML_EXT_MAX_ATTR_SIZE
    ggml_ext_infer_t infer;
    ggml_ext_reference_t reference; // may be NULL
    void * user_data;               // handed to both
};

// *op is set on success, and to NULL otherwise. Operators belong to no device and are never late.
GGML_API enum ggml_ext_status ggml_ext_register_op(const struct ggml_ext_op_desc * desc, ggml_ext_op_t * op);

// NULL when there is no such operator. Name and size of a NULL operator: NULL and 0.
GGML_API ggml_ext_op_t ggml_ext_find_op(const char * name);
GGML_API const char * ggml_ext_op_name(ggml_ext_op_t op);
GGML_API size_t ggml_ext_op_attr_size(ggml_ext_op_t op);

// A node with one contiguous output of its own. n_inputs <= GGML_MAX_SRC; inputs may contain NULL (an
// optional input left out) but not only NULLs. attrs: attr_size bytes, copied into the node; attr_size must
// be what was registered. NULL on failure, with the reason also logged: wrong arguments, inputs refused by
// infer, an output that cannot exist, no room in the context.
GGML_API struct ggml_tensor * ggml_ext_op_create(struct ggml_context * ctx, ggml_ext_op_t op,
                                                 struct ggml_tensor ** inputs, int n_inputs,
                                                 const void * attrs, size_t attr_size);

// Which registered operator a node has; NULL for every other node, including ggml_custom_4d. The attributes
// are attr_size bytes inside the node, not aligned; NULL where there are none.
GGML_API ggml_ext_op_t ggml_ext_node_op(const struct ggml_tensor * node);
GGML_API const void * ggml_ext_node_attrs(const struct ggml_tensor * node);

// "sd.modulate.v1(x: f32 [8, 4], scale: f32 [8]) -> f32 [8, 4]", for people; attributes follow the inputs as
// hexadecimal bytes, "; attrs 00ff2a". Works for every node. At most size bytes including the terminating
// zero are written; returns the length of the whole text.
GGML_API size_t ggml_ext_node_print(const struct ggml_tensor * node, char * text, size_t size);

//
// Kernels and fusion rules
//

enum ggml_ext_kernel_flags {
    // `execute` only enqueues device work that a recording can repeat: no host side effects that are needed
    // each
    // time, no decision that depends on the contents of tensors, private streams rejoin the borrowed one.
    // Lazy
    // set-up happens in the first execution of a plan, which is never recorded.
    GGML_EXT_KERNEL_CAPTURE_SAFE = 1 << 0,

    // Moreover the recorded work depends on nothing but complete tensor metadata, addresses, the device and
    // what
    // was registered; its resources belong to the backend or are the workspace; workspace contents are
    // initialized by recorded work. Such a recording may serve a later plan that equals this one in all of
    // these.
    // Needs CAPTURE_SAFE.
    GGML_EXT_KERNEL_REPLAY_REUSABLE = 1 << 1,
};

// The nodes a step computes, in execution order; the last one's result is the step's. Fused intermediates
// have metadata and edges but no storage.
struct ggml_ext_step {
    struct ggml_tensor * const * nodes;
    int n_nodes;
};

enum ggml_ext_overlap {
    GGML_EXT_OVERLAP_NONE = 0,    // no byte in common
    GGML_EXT_OVERLAP_EXACT = 1,   // the same bytes: same start, shape, strides and type
    GGML_EXT_OVERLAP_PARTIAL = 2, // some bytes in common, or not the same order
};

// Do two tensors share bytes? Known before addresses exist, from who owns the storage: separate owners that
// have no storage yet never overlap.
GGML_API enum ggml_ext_overlap ggml_ext_tensor_overlap(const struct ggml_tensor * a,
                                                       const struct ggml_tensor * b);

// Host logic only: no work is launched and no device memory allocated. Also called when a graph is only
// measured, so tensors may have no addresses.
struct ggml_ext_prepare_params {
    size_t struct_size;
    ggml_backend_t backend;
    struct ggml_ext_step step;
    // True: the result has fresh storage that overlaps no input of the step, whatever addresses the
    // allocation gives. False: it may overlap inputs (a view, a terminal copy, storage given before, storage
    // taken over from an input), and a kernel that cannot bear that needs scratch space.
    bool output_is_fresh;
};

// Filled by prepare; zero before.
struct ggml_ext_prepared {
    void * state;           // handed to execute and destroy; may stay NULL
    size_t workspace_bytes; // scratch memory needed; 0 for none
};

struct ggml_ext_execute_params {
    size_t struct_size;
    ggml_backend_t backend; // queue work in its order
    struct ggml_ext_step step;
    // The workspace of the plan, at least what prepare asked for, aligned like the backend's buffers; NULL
    // when this step asked for none. Shared by all steps, which run one after another: contents do not
    // survive, and private streams must be done with it before later work of the backend.
    ggml_backend_buffer_t workspace;
    void * workspace_base;  // ggml_backend_buffer_get_base(workspace)
    size_t workspace_bytes; // what prepare asked for
};

// One registration. A kernel has `supports`, a fusion rule has `match`, a descriptor with both is both.
struct ggml_ext_kernel_desc {
    size_t struct_size; // sizeof(struct ggml_ext_kernel_desc)
    const char * name;  // "vendor.words", copied; unique among the device's kernels

    // The operator of the node it runs, or of the first node of a match. GGML_OP_CUSTOM: the registered
    // operator `custom_op`. GGML_OP_NONE with `match` alone: matches may start at any node.
    enum ggml_op op;
    ggml_ext_op_t custom_op;

    int32_t priority; // higher is considered first; equal ones in order of registration
    uint32_t flags;   // ggml_ext_kernel_flags; must be 0 for ggml_ext_register_kernel

    // Can it compute this node correctly? Metadata only. Must not ask ggml_backend_dev_supports_op about the
    // same device and operator; ggml_ext_dev_supports_native_op may be asked. NULL: claims no single node.
    bool (*supports)(ggml_backend_dev_t device, const struct ggml_tensor * node, ggml_ext_why_t why,
                     void * user_data);

    // Asked where the device could run the node itself: should this kernel do it? NULL: yes. Where the device
    // cannot, a supported kernel runs without being asked.
    bool (*preferred)(ggml_backend_dev_t device, const struct ggml_tensor * node, ggml_ext_why_t why,
                      void * user_data);

    // How many consecutive nodes, from number `first` of the graph on, it computes as one step; 0: none.
    // Answers for mathematics, types, shapes, layouts and hardware. That nothing else needs the intermediates
    // is checked by the runtime afterwards. Nodes [first, ggml_graph_n_nodes(graph)) may be looked at. NULL:
    // does not fuse.
    int (*match)(ggml_backend_dev_t device, const struct ggml_cgraph * graph, int first, ggml_ext_why_t why,
                 void * user_data);

    // May reorder the graph with ggml_ext_graph_delay before anything is matched or allocated. NULL: nothing.
    void (*optimize)(ggml_backend_dev_t device, struct ggml_cgraph * graph, void * user_data);

    // NULL: no state, no workspace. A failure ends planning with that status.
    enum ggml_status (*prepare)(const struct ggml_ext_prepare_params * params,
                                struct ggml_ext_prepared * prepared, void * user_data);

    // Computes the step. A failure is returned to whoever computes the graph; nothing is tried instead.
    enum ggml_status (*execute)(const struct ggml_ext_execute_params * params, void * state,
                                void * user_data);

    // Releases what prepare made. Called once for each successful prepare, in the reverse order of the steps.
    void (*destroy)(void * state, void * user_data);

    void * user_data;
};

// Adds a kernel or fusion rule to a device. The plain form refuses flags.
GGML_API enum ggml_ext_status ggml_ext_register_kernel(ggml_backend_dev_t device,
                                                       const struct ggml_ext_kernel_desc * desc);
GGML_API enum ggml_ext_status ggml_ext_register_kernel_ex(ggml_backend_dev_t device,
                                                          const struct ggml_ext_kernel_desc * desc);

// What the device runs without any extension. ggml_backend_dev_supports_op also counts kernels of single
// nodes.
GGML_API bool ggml_ext_dev_supports_native_op(ggml_backend_dev_t device, const struct ggml_tensor * op);

//
// Policy
//

// What a scheduler may use of what is registered. Defaults are on; GGML_EXT_KERNELS, GGML_EXT_FUSION and
// GGML_EXT_REPLAY in the environment change them.
struct ggml_ext_policy {
    size_t struct_size;
    bool kernels; // kernels may replace what the device runs itself; false: only where nobody else computes a
                  // node
    bool fusion;
    bool replay;                   // devices may record and replay plans
    const char * const * disabled; // names of kernels and rules that are not to be used; copied
    size_t n_disabled;
};

GGML_API struct ggml_ext_policy ggml_ext_policy_default(void);

// Holds from the next graph that is allocated; a graph that is allocated already runs as it was planned.
// GGML_EXT_INVALID for a wrong struct_size or a NULL name. NULL policy: back to the default.
GGML_API enum ggml_ext_status ggml_ext_sched_set_policy(ggml_backend_sched_t sched,
                                                        const struct ggml_ext_policy * policy);

//
// Help for match and optimize
//

// Number of leading operators in ops[n_ops] that nodes [first, ...) of the graph have, in order; when it is
// less than n_ops, the reason is noted. GGML_OP_CUSTOM stands for any registered operator.
GGML_API int ggml_ext_match_ops(const struct ggml_cgraph * graph, int first, const enum ggml_op * ops,
                                int n_ops, ggml_ext_why_t why);

// Moves nodes [first, first + n) behind node number `after`: they keep their order, the nodes in between move
// ahead. Refused, with the graph unchanged, when a crossed node reads or feeds a moved one, when somebody's
// effects are not known, or when a write would cross an access to the same storage.
GGML_API enum ggml_ext_status ggml_ext_graph_delay(struct ggml_cgraph * graph, int first, int n, int after);

//
// Services of backends, by name through ggml_backend_reg_get_proc_address
//
// docs/extension-api.md lists the names of all families. Those of the CPU:

// "ggml_ext_cpu_parallel_v1": runs task(ith, nth, data) on nth threads of the backend's team at once, ith
// being 0 .. nth - 1, and returns when all are done. nth is at most n_tasks (0: as many as the team has) and
// may be less. GGML_STATUS_ABORTED when the backend's abort callback says so before or after; a kernel passes
// that on. Only from `execute`, on its thread; tasks do not nest.
typedef void (*ggml_ext_cpu_task_t)(int ith, int nth, void * data);
typedef enum ggml_status (*ggml_ext_cpu_parallel_v1_t)(ggml_backend_t backend, int n_tasks,
                                                       ggml_ext_cpu_task_t task, void * data);

// "ggml_ext_cpu_n_threads_v1": the size of the team. A kernel that asks for workspace per thread in `prepare`
// passes the same number as n_tasks later, so that a team that has grown meanwhile does not outgrow the
// workspace.
typedef int (*ggml_ext_cpu_n_threads_v1_t)(ggml_backend_t backend);

// "ggml_ext_cpu_isa_v1": may kernels use an instruction set, named as in GGML_CPU_ISA? True when the
// processor has it and GGML_CPU_ISA does not forbid it; false for unknown names.
typedef bool (*ggml_ext_cpu_isa_v1_t)(const char * level);

#ifdef __cplusplus
}
#endif
