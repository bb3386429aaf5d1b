// Choosing what computes one node. Promise: a pure function of metadata, registrations and policy. Order:
// priority, supports, preferred, native; equal priorities in order of registration.
#pragma once

#include "runtime/ext/registry/registry.h"
#include "runtime/ext/verdict/verdict.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ggml::ext {

// What may be used. The default comes from the environment; a scheduler can have its own.
struct Policy {
    bool kernels = true; // kernels of nodes that the device itself runs too
    bool fusion = true;
    bool replay = true;
    std::vector<std::string> disabled; // names of kernels and rules
    // Extension steps of a graph, counted from its start, beyond which they only do what nobody else can.
    // Kept for finding the first step that matters.
    size_t most_steps = SIZE_MAX;

    bool allows(const Kernel & kernel) const;
    static const Policy & of_environment();
};

struct Candidate {
    const Kernel * kernel;
    Verdict verdict; // why it was not chosen
};

// Null: the device itself, if anybody. losers: null when nobody asks.
const Kernel * choose(ggml_backend_dev_t device, const DeviceKernels & kernels, const ggml_tensor * node,
                      const Policy & policy, std::vector<Candidate> * losers);

// Does a kernel the policy allows claim the node? With the environment's policy it is what capability queries
// count.
bool some_kernel_supports(const DeviceKernels & kernels, const ggml_tensor * node, const Policy & policy);

} // namespace ggml::ext
