// What explain says, as plain values: they stay good when the graph, the plans and the scheduler are gone.
// Promise: writing a report changes nothing and asks nobody.
#pragma once

#include "runtime/ext/plan/plan.h"

#include <array>
#include <string>
#include <vector>

namespace ggml::ext {

// Somebody who did not, and why.
struct ReportRefusal {
    std::string who;     // kernel or rule; empty: the device itself
    std::string backend; // where, when it is not the backend at hand
    ggml_ext_reason reason = GGML_EXT_REASON_NONE;
    std::string words;
};

// A source of a node, by value.
struct ReportInput {
    std::string type; // empty: left out
    std::array<int64_t, GGML_MAX_DIMS> ne;
    std::array<size_t, GGML_MAX_DIMS> nb;
};

struct ReportNode {
    int number;                   // in the order of execution, through all splits
    std::string name, op, result; // result: "f32 [8, 4, 1, 1]"
    StepKind kind;
    std::string by;                       // kernel or rule; empty: native
    std::vector<ReportRefusal> rejected;  // of this backend
    std::vector<ReportRefusal> elsewhere; // of backends that come first, and do not run it
    std::vector<ReportInput> inputs;
    std::string attrs; // hexadecimal: a registered operator's attributes, or op_params
};

struct ReportSplit {
    std::string backend, device;
    int first = 0, n_nodes = 0;
    std::vector<std::string> copied; // sources that are copied here before it runs
    size_t workspace_bytes = 0;
    std::string workspace_step; // that wants most
    ReportRefusal failure;      // of `prepare`
    std::vector<ReportNode> nodes;
};

struct ReportRule {
    std::string backend, name;
    int fired = 0;
    int longest = 0; // nodes of the longest match that was not taken
    int at = -1;     // number of its first node
    std::string node;
    ReportRefusal miss;
};

// The memory ledger of one backend.
struct ReportMemory {
    std::string backend;
    size_t tensor_bytes = 0, workspace_bytes = 0;
    size_t tensor_bytes_unfused = 0; // what tensors would take with fusion off
};

struct ReportReplay {
    int split;
    std::string backend;
    ReportRefusal miss; // reason NONE: the last execution was a replay
};

struct Report {
    int n_nodes = 0, n_leafs = 0, n_copies = 1;
    uint64_t executions = 0; // of the allocated graph; `replays` is empty without any
    std::vector<ReportSplit> splits;
    std::vector<ReportRule> rules;
    std::vector<ReportMemory> memory;
    size_t n_left_out = 0, left_out_bytes = 0; // tensors that fusion leaves without storage
    std::vector<ReportReplay> replays;
    std::vector<std::string> notices; // what may make it slow
};

// One object:
//   version          1; grows when the meaning of a field changes, not when fields are added
//   graph            {nodes, leafs, copies}
//   splits[]         {backend, device, first, nodes_count, copied[], workspace_bytes, workspace_step?,
//                     failure?, nodes[]}
//     nodes[]        {node, name, op, result, kind: "native" | "kernel" | "fusion", by?, inputs[], attrs,
//                     rejected[], elsewhere[]}
//       inputs[]     {type, ne[4], nb[4]}, or null for one that is left out
//       attrs        hexadecimal bytes: the attributes of a registered operator; op_params of a built-in one,
//                    without the zeros at its end; "" for functions of the caller, which are addresses
//   rules[]          {backend, rule, fired, longest, node?, name?, miss?}
//   memory[]         {backend, tensor_bytes, workspace_bytes, tensor_bytes_unfused}
//   fusion           {left_out, left_out_bytes, peak_bytes_saved}
//   replay           {executions, splits[]: {split, backend, replayed, miss?}}
//   notices[]        sentences
// A refusal - miss, failure, and the items of rejected and elsewhere - is {who, backend?, reason, message};
// who is "" for a device itself. Fields with ? are left out where there is nothing to say. Bytes may be
// 18446744073709551615 where a size overflows. `node`, `first` count through the graph as it runs; numbers
// inside messages count from the first node of the split.
std::string to_json(const Report & report);

// For people: aligned, lines of at most 100 characters as long as names allow.
std::string to_text(const Report & report);

size_t peak_bytes_saved(const Report & report);

} // namespace ggml::ext
