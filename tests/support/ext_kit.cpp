#include "tests/support/ext_kit.h"

#include "ggml-cpu.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace ggml::test {
namespace {

// What the process has registered. Never freed, always reachable.
std::vector<std::unique_ptr<KernelKit>> & kernels() {
    static auto * all = new std::vector<std::unique_ptr<KernelKit>>;
    return *all;
}

std::vector<std::unique_ptr<OpKit>> & ops() {
    static auto * all = new std::vector<std::unique_ptr<OpKit>>;
    return *all;
}

KernelKit & kit_of(void * user_data) { return *static_cast<KernelKit *>(user_data); }

bool supports(ggml_backend_dev_t, const ggml_tensor * node, ggml_ext_why_t why, void * self) {
    return kit_of(self).supports(node, why);
}
bool preferred(ggml_backend_dev_t, const ggml_tensor * node, ggml_ext_why_t, void * self) {
    return kit_of(self).preferred(node);
}
int match(ggml_backend_dev_t, const ggml_cgraph * graph, int first, ggml_ext_why_t why, void * self) {
    return kit_of(self).match(graph, first, why);
}
void optimize(ggml_backend_dev_t, ggml_cgraph * graph, void * self) { kit_of(self).optimize(graph); }
ggml_status prepare(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void * self) {
    return kit_of(self).prepare(*params, *prepared);
}
ggml_status execute(const ggml_ext_execute_params * params, void * state, void * self) {
    return kit_of(self).execute(*params, state);
}
void destroy(void * state, void * self) { kit_of(self).destroy(state); }

bool infer(const ggml_tensor * const * inputs, int n, const void * attrs, ggml_ext_output * output,
           ggml_ext_why_t, void * self) {
    const OpKit & kit = *static_cast<OpKit *>(self);
    if (kit.infer) return kit.infer(inputs, n, attrs, *output);
    output->type = inputs[0]->type;
    std::copy(inputs[0]->ne, inputs[0]->ne + GGML_MAX_DIMS, output->ne);
    return true;
}

ggml_status reference(ggml_tensor * node, void * self) { return static_cast<OpKit *>(self)->reference(node); }

} // namespace

void add_kernel(ggml_backend_dev_t device, const KernelKit & given) {
    KernelKit & kit = *kernels().emplace_back(std::make_unique<KernelKit>(given));
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = kit.name.c_str();
    desc.op = kit.op;
    desc.custom_op = kit.custom_op;
    desc.priority = kit.priority;
    desc.flags = kit.flags;
    if (kit.supports) desc.supports = supports;
    if (kit.preferred) desc.preferred = preferred;
    if (kit.match) desc.match = match;
    if (kit.optimize) desc.optimize = optimize;
    if (kit.prepare) desc.prepare = prepare;
    if (kit.execute) desc.execute = execute;
    if (kit.destroy) desc.destroy = destroy;
    desc.user_data = &kit;
    const ggml_ext_status status =
        kit.flags != 0 ? ggml_ext_register_kernel_ex(device, &desc) : ggml_ext_register_kernel(device, &desc);
    ASSERT_EQ(status, GGML_EXT_SUCCESS) << ggml_ext_last_message();
}

ggml_status queue_floats(const ggml_ext_execute_params & params,
                         const std::vector<const ggml_tensor *> & inputs,
                         std::function<void(float *, const std::vector<const float *> &, int64_t)> compute) {
    const bool cpu = ggml_backend_is_cpu(params.backend);
    const auto address = [cpu](const ggml_tensor * t) {
        return static_cast<float *>(cpu ? t->data : real_address(t));
    };
    const ggml_tensor * result = params.step.nodes[params.step.n_nodes - 1];
    std::vector<const float *> in;
    for (const ggml_tensor * t : inputs) in.push_back(address(t));
    const auto work = [compute = std::move(compute), out = address(result), in = std::move(in),
                       n = ggml_nelements(result)] { compute(out, in, n); };
    if (cpu) {
        work();
    } else {
        enqueue(params.backend, work);
    }
    return GGML_STATUS_SUCCESS;
}

std::function<ggml_status(const ggml_ext_execute_params &, void *)>
elementwise(std::function<float(const std::vector<float> &)> f) {
    return [f](const ggml_ext_execute_params & params, void *) {
        std::vector<const ggml_tensor *> inputs;
        for (const ggml_tensor * src : params.step.nodes[0]->src) {
            if (src != nullptr) inputs.push_back(src);
        }
        return queue_floats(params, inputs,
                            [f](float * out, const std::vector<const float *> & in, int64_t n) {
                                std::vector<float> values(in.size());
                                for (int64_t i = 0; i < n; ++i) {
                                    for (size_t j = 0; j < in.size(); ++j) values[j] = in[j][i];
                                    out[i] = f(values);
                                }
                            });
    };
}

ggml_ext_op_t add_op(const OpKit & given) {
    if (ggml_ext_op_t known = ggml_ext_find_op(given.name.c_str())) return known;
    OpKit & kit = *ops().emplace_back(std::make_unique<OpKit>(given));
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = kit.name.c_str();
    desc.attr_size = kit.attr_size;
    desc.infer = infer;
    if (kit.reference) desc.reference = reference;
    desc.user_data = &kit;
    ggml_ext_op_t op = nullptr;
    EXPECT_EQ(ggml_ext_register_op(&desc, &op), GGML_EXT_SUCCESS) << ggml_ext_last_message();
    return op;
}

} // namespace ggml::test
