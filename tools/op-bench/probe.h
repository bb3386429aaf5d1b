// Which implementations of a node this machine has, found by asking: explain says who was chosen and why
// others were not, and the policy's list of disabled names puts each in front once. Nothing is allocated or
// executed.
#pragma once

#include "ggml-cpp.h"
#include "tools/op-bench/op_case.h"

#include <cstdint>
#include <string>
#include <vector>

namespace op_bench {

inline constexpr const char * kNative = "native";

struct Implementation {
    std::string name;    // of the kernel; kNative: the device itself
    bool chosen = false; // what a graph gets when nothing is disabled
    std::string refusal; // why it does not run here; empty: it does
    uint64_t bytes = 0;  // result and workspace
};

// A scheduler on the CPU that may not use these kernels. A kernel is run alone by disabling all others, the
// device itself by disabling all.
ggml_backend_sched_ptr scheduler_without(ggml_backend_t cpu, const std::vector<std::string> & kernels);

// Kernels in the order they are considered, then the device itself where it is one. Throws Failure when the
// node does not fit together or nothing runs it.
std::vector<Implementation> implementations_of(ggml_backend_t cpu, const OpCase & op, const NodeSpec & spec);

std::vector<std::string> kernel_names(const std::vector<Implementation> & list);

// The CPU with everything registered. Throws Failure when it is not there.
ggml_backend_ptr open_cpu(int n_threads);

} // namespace op_bench
