// Looking into, checking and attacking what ggml-ext.h adds: for people who write extensions and for programs
// that must not become slow or wrong in silence.
//
//   explain       which implementation each node gets, why not another, what fusion saves
//   expectations  "rule X fires 28 times": a breach is an error or a warning
//   parity        extension steps against the reference path, from the same inputs
//   audit         does a kernel keep what its replay flags promise?
//   fuzz          does a fusion rule stay right when the graph around it is changed?
//   trace         what happened when, for Perfetto or chrome://tracing
//
// Promise: none of these is reached, and none costs anything, unless it is called or set. Texts are the
// caller's and end with ggml_ext_text_free. Functions run on the calling thread; one scheduler is used by one
// thread at a time.
#pragma once

#include "ggml-ext.h"

#ifdef __cplusplus
extern "C" {
#endif

// A zero-terminated text made here. NULL is allowed.
GGML_API void ggml_ext_text_free(char * text);

//
// Explain
//

enum ggml_ext_format { GGML_EXT_FORMAT_TEXT = 0, GGML_EXT_FORMAT_JSON = 1 };

// A dry run of allocating this graph in this scheduler: nothing is allocated or executed, and scheduler and
// graph are left as they were, also when the graph is allocated at the moment. Lists, split by split, each
// node with its device and implementation, the kernels that were not chosen and why; each fusion rule with
// how often it fired, the longest prefix it matched without firing and the check that failed there; bytes
// saved by fusion; workspace. Of a graph that is allocated now, also why the last execution was no replay.
// Kernels are asked, so their devices are frozen afterwards as by any capability query.
// NULL when out of memory or when no backend runs a node (the reason is then the calling thread's last
// message).
GGML_API char * ggml_ext_explain(ggml_backend_sched_t sched, struct ggml_cgraph * graph,
                                 enum ggml_ext_format format);

//
// Expectations
//

enum ggml_ext_expectation_kind {
    GGML_EXT_EXPECT_DEVICE =
        0, // nodes whose name or operator matches `nodes` run on the backend named `name`
    GGML_EXT_EXPECT_KERNEL = 1, // they are computed by the kernel or fusion rule `name`
    GGML_EXT_EXPECT_FUSION = 2, // rule `name` fires exactly `count` times in a graph
    GGML_EXT_EXPECT_REPLAY = 3, // from execution number `count` of an allocated graph on (1 is the first),
                                // each split of the backend named `name` is a replay
};

struct ggml_ext_expectation {
    size_t struct_size;
    enum ggml_ext_expectation_kind kind;
    const char * nodes; // pattern with * and ?; matched against the node's name and its operator; NULL: all
    const char * name;
    int count;
    bool is_error; // true: allocation, or the execution, fails; false: one warning line for each allocated
                   // graph
};

// Replaces the scheduler's expectations; n 0 removes them. Copied. A breach names the expectation and what
// happened instead, with the reason from explain. DEVICE and KERNEL that match no node at all are breaches
// too, and so is REPLAY where no split runs on that backend.
GGML_API enum ggml_ext_status
ggml_ext_sched_expect(ggml_backend_sched_t sched, const struct ggml_ext_expectation * expectations, size_t n);

//
// Parity
//

// How two results of one shape differ. `count` elements were compared; where both are NaN, or the same
// infinity, they are equal.
struct ggml_ext_difference {
    int64_t count;
    double max_abs, max_rel, nmse; // nmse: squared error over squared reference
    int64_t first_bad; // index of the first element outside the tolerance, in ggml order; -1: none
    double bad_value, bad_reference;
    int64_t n_nan, n_inf; // in the result but not in the reference
};

// An element is good when |a - b| <= max_abs + max_rel * |b|; a result is good when all elements are and its
// nmse does not exceed max_nmse.
// GGML_EXT_INVALID for a limit that is negative or NaN.
struct ggml_ext_tolerance {
    double max_abs, max_rel, max_nmse;
};

struct ggml_ext_parity_step {
    const char * kernel; // name of the kernel or rule
    int first, n_nodes;  // in the order the split runs them
    const char * result; // name of the result
    struct ggml_ext_difference difference;
    bool good;
    bool compared; // false: there is no reference for one of its nodes; `difference` is empty
};

struct ggml_ext_parity_result {
    struct ggml_ext_parity_step * steps;
    size_t n_steps;
    // Number in `steps` of the first extension step without which the graph's results would be good, found by
    // bisection over whole executions; -1: the results are good.
    int first_that_matters;
};

// Executes a graph that is allocated in the scheduler and whose inputs are set. Each extension step is also
// computed by the reference path from the same input bytes: built-in nodes by the CPU's scalar reference,
// registered operators by their own `reference`. With bisect, the graph is then executed again with fewer and
// fewer extensions. The graph's results are afterwards those of an ordinary execution. Freed with
// ggml_ext_parity_free.
GGML_API enum ggml_ext_status ggml_ext_parity(ggml_backend_sched_t sched, struct ggml_cgraph * graph,
                                              const struct ggml_ext_tolerance * tolerance, bool bisect,
                                              struct ggml_ext_parity_result ** result);
GGML_API void ggml_ext_parity_free(struct ggml_ext_parity_result * result);

//
// Replay audit
//

// Builds the graph to audit in a context without storage, of at most 16,384 tensors, and returns its result.
// Called several times; must build the same graph each time. Inputs are leafs marked with ggml_set_input
// (filled by the audit with random numbers) or have storage already.
typedef struct ggml_tensor * (*ggml_ext_build_t)(struct ggml_context * ctx, void * user_data);

struct ggml_ext_audit_result {
    bool kept;                   // everything the kernels' flags promise was found to hold
    enum ggml_ext_reason reason; // of the first promise that was not kept
    char message[512];           // which kernel, in which test, what was seen
};

// Tries the promises of the capture-safe kernels chosen for this graph on this backend, which must be able to
// replay: run, record, change the inputs, replay and compare with an ordinary run; rebuild in new memory,
// free the old, replay again; poison the workspace before a replay. Kernels without the flag are left out
// where somebody else computes their nodes; when nothing is left to audit, `kept` is true and `reason` says
// why. Recordings the backend held before are released, so that its other plans record again.
// GGML_EXT_SUCCESS says the audit was carried out.
GGML_API enum ggml_ext_status ggml_ext_replay_audit(ggml_backend_t backend, ggml_ext_build_t build,
                                                    void * user_data,
                                                    const struct ggml_ext_tolerance * tolerance,
                                                    struct ggml_ext_audit_result * result);

//
// Legality fuzzer
//

struct ggml_ext_fuzz_options {
    size_t struct_size;
    uint64_t seed;
    int rounds;         // mutated graphs to try; 0: until max_seconds
    double max_seconds; // 0: no limit
    struct ggml_ext_tolerance tolerance;
};

struct ggml_ext_fuzz_result {
    int rounds, fired,
        refused;   // graphs tried; of those, where the rule fired; where it matched or might have, but no
    bool found;    // a graph for which the fused result differs
    uint64_t seed; // that reproduces it with rounds = 1
    char mutation[128]; // what was done to the example
    char message[512];  // which tensor, which element, what it is and should be
};

// Attacks a fusion rule (or kernel) by name on a backend. `build` makes an example the rule fires on: that is
// checked first. Mutations: external consumers, output flags, views, permutes, aliases, swapped operands,
// other types, strides and broadcasts, non-default parameters and attributes, interleaved nodes, and
// combinations. Each mutated graph is executed with everything on and with this rule off, from the same
// inputs; every tensor that may be read afterwards is compared, and the inputs too.
GGML_API enum ggml_ext_status ggml_ext_fuzz_rule(ggml_backend_t backend, const char * rule,
                                                 ggml_ext_build_t build, void * user_data,
                                                 const struct ggml_ext_fuzz_options * options,
                                                 struct ggml_ext_fuzz_result * result);

//
// Trace
//

// Records, from now on and for the whole process, planning, allocation, steps, copies and replays, with their
// names and times in microseconds; written to the file as JSON when the trace ends. GGML_EXT_INVALID when a
// trace is running or the file cannot be created; ending gives GGML_EXT_INVALID when none is running and
// GGML_EXT_FAILED, leaving no file, when it could not be written. A device, a pipe and what a link leads to
// are written as they are and stay. Times are those of the calling thread: of handing over work, where a
// device works asynchronously.
GGML_API enum ggml_ext_status ggml_ext_trace_begin(const char * file_name);
GGML_API enum ggml_ext_status ggml_ext_trace_end(void);

#ifdef __cplusplus
}
#endif
