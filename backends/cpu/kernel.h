// The contract between the CPU backend and its kernel families. A family (one folder under kernels/) owns a
// list of operators; for each a scalar reference, a kernel, the scratch it needs and the nodes it accepts.
// The backend never looks inside a family, and a family never looks at the graph around a node.
#pragma once

#include "backends/cpu/team.h"
#include "ggml.h"

#include <cstddef>
#include <span>

namespace ggml::cpu {

// What a kernel gets while one node runs. Kernels run on the driving thread and open parallel sections
// themselves.
struct KernelContext {
    const Team & team;
    std::span<std::byte> scratch; // at least scratch(node) bytes, 64-byte aligned, contents undefined
};

// Computes dst from dst->src. Every operand and dst have host addresses and at least one element in dst
// (empty results are not dispatched); sources may be empty. Returns SUCCESS, or ABORTED after a cancelled
// phase, or FAILED.
using KernelFn = ggml_status (*)(const KernelContext & ctx, ggml_tensor * dst);

// Scratch bytes for this node with this many threads; from metadata only.
using ScratchFn = size_t (*)(const ggml_tensor * dst, int n_threads);

// True when types, shapes and strides of this node are computed correctly here; from metadata only.
using SupportsFn = bool (*)(const ggml_tensor * dst);

struct OpKernels {
    ggml_op op;
    SupportsFn supports;
    KernelFn kernel;
    KernelFn reference;          // readable scalar code, single thread; the oracle of `kernel`
    ScratchFn scratch = nullptr; // null: none
    ScratchFn reference_scratch = nullptr;
};

// A family's list. Families are named in kernels/families.inc.
using Family = std::span<const OpKernels>;

// Entry for an operator, or null when no family has it.
const OpKernels * find_kernels(ggml_op op);

} // namespace ggml::cpu
