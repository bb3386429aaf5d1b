// Extensions made of lambdas, for tests: each registration keeps its callbacks for the life of the process,
// as the API asks for.
#pragma once

#include "ggml-ext.h"

#include <functional>
#include <string>
#include <vector>

namespace ggml::test {

struct KernelKit {
    std::string name;
    ggml_op op = GGML_OP_NONE;
    ggml_ext_op_t custom_op = nullptr;
    int priority = 0;
    uint32_t flags = 0;
    std::function<bool(const ggml_tensor *, ggml_ext_why_t)> supports;
    std::function<bool(const ggml_tensor *)> preferred;
    std::function<int(const ggml_cgraph *, int, ggml_ext_why_t)> match;
    std::function<void(ggml_cgraph *)> optimize;
    std::function<ggml_status(const ggml_ext_prepare_params &, ggml_ext_prepared &)> prepare;
    std::function<ggml_status(const ggml_ext_execute_params &, void *)> execute;
    std::function<void(void *)> destroy;
};

// With flags through ggml_ext_register_kernel_ex. Fails the test when the registration is refused.
void add_kernel(ggml_backend_dev_t device, const KernelKit & kit);

// Runs, or queues on a test device, `compute` over host pointers: the contiguous F32 result of a step, and
// the external inputs given.
ggml_status
queue_floats(const ggml_ext_execute_params & params, const std::vector<const ggml_tensor *> & inputs,
             std::function<void(float * out, const std::vector<const float *> & in, int64_t n)> compute);

// The kernel of one node that computes f of the elements of its sources, all of the result's shape.
std::function<ggml_status(const ggml_ext_execute_params &, void *)>
elementwise(std::function<float(const std::vector<float> &)> f);

struct OpKit {
    std::string name;
    size_t attr_size = 0;
    std::function<bool(const ggml_tensor * const *, int, const void *, ggml_ext_output &)>
        infer; // empty: like inputs[0]
    std::function<ggml_status(ggml_tensor *)> reference;
};

// Registers it once in the process; later calls with the same name give the same operator.
ggml_ext_op_t add_op(const OpKit & kit);

} // namespace ggml::test
