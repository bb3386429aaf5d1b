// Executes graphs node by node on a thread team. Knows nothing of fusion or extensions: those are planned
// above it.
#pragma once

#include "backends/cpu/kernel.h"
#include "ggml-cpu.h"

namespace ggml::cpu {

// Alignment of the scratch kernels see; scratch_need includes the slack to reach it from any address.
inline constexpr size_t kScratchAlignment = 64;

// Most scratch any node of nodes[0, n) needs, plus alignment slack, and the node that needs it; 0 and null
// when none needs any. SIZE_MAX: more than can be counted.
struct ScratchNeed {
    size_t bytes;
    const ggml_tensor * node;
};
ScratchNeed scratch_need(ggml_tensor * const * nodes, int n_nodes, int n_threads, bool use_ref);

// Logs that this much scratch is not to be had, and for which node. Returns ALLOC_FAILED.
ggml_status report_no_scratch(const ScratchNeed & need);

// Runs one node. Nodes that only describe storage, are not marked for computing or have no elements succeed
// at once.
ggml_status run_node(const KernelContext & ctx, ggml_tensor * node, bool use_ref);

// Runs nodes in order; stops at the first failure, or with ABORTED when the team's abort callback says so.
ggml_status run_nodes(const KernelContext & ctx, ggml_tensor * const * nodes, int n_nodes, bool use_ref);

} // namespace ggml::cpu
