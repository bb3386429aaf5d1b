// Explain's JSON document as values: which nodes a graph has, what they read, what was chosen for them.
#pragma once

#include "tools/op-bench/spec.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace op_bench {

struct ExplainNode {
    NodeSpec spec;
    std::string kind; // "native", "kernel", "fusion"
    std::string by;   // kernel or rule; empty: native
    struct Rejected {
        std::string kernel, reason, words; // reason: "selection.outranked"
    };
    std::vector<Rejected> rejected;
};

struct ExplainDocument {
    std::vector<ExplainNode> nodes;
    uint64_t memory_bytes = 0; // of tensors and workspaces, on all backends; the largest number when too many
};

// Throws Failure for what is no such document, naming the first thing that is wrong. A document without
// `inputs`, as written before there was such a field, is refused too.
ExplainDocument parse_explain(std::string_view json);

// Throws Failure also for files that cannot be read, and above 256 MiB.
ExplainDocument read_explain(const std::string & path);

// Equal nodes together, in the order of their first.
struct RepeatedNode {
    NodeSpec spec;
    int count = 0;
    int fused = 0; // of those, computed together with others where the document was made
};
std::vector<RepeatedNode> distinct_nodes(const ExplainDocument & document);

// Views and their like: no device computes anything for them.
bool is_free(const std::string & op);

} // namespace op_bench
