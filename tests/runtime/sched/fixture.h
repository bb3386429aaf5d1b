// A scheduler over test devices and the CPU, and graphs to give it.
#pragma once

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tests/runtime/backend/fixture.h"
#include "tests/support/test_device.h"

#include <memory>
#include <vector>

namespace ggml::test {

// Backends in order of priority: one per device, then the CPU computing with its reference kernels.
struct Machine {
    explicit Machine(std::vector<TestDeviceOptions> options, bool parallel = false, bool op_offload = false) {
        for (TestDeviceOptions & o : options) {
            devices.push_back(std::make_unique<TestDevice>(std::move(o)));
            streams.emplace_back(devices.back()->new_backend());
        }
        streams.emplace_back(ggml_backend_cpu_init());
        ggml_backend_cpu_set_use_ref(streams.back().get(), true);
        std::vector<ggml_backend_t> backends;
        for (auto & s : streams) backends.push_back(s.get());
        // A small hint: graphs that exceed it have to work as well.
        sched.reset(
            ggml_backend_sched_new(backends.data(), nullptr, int(backends.size()), 16, parallel, op_offload));
    }
    ~Machine() { sched.reset(); }

    ggml_backend_t backend(size_t i) { return streams[i].get(); }
    ggml_backend_t cpu() { return streams.back().get(); }
    int failures() const {
        int sum = 0;
        for (auto & d : devices) sum += d->counters.failures;
        return sum;
    }

    std::vector<std::unique_ptr<TestDevice>> devices;
    std::vector<ggml_backend_ptr> streams;
    ggml_backend_sched_ptr sched;
};

// A tensor with its own buffer on a backend, marked as weights.
struct Weight {
    ggml_context_ptr ctx = make_context(2);
    ggml_tensor * tensor;
    ggml_backend_buffer_ptr buffer;

    Weight(ggml_backend_t backend, int64_t ne0, int64_t ne1, const std::vector<float> & values,
           ggml_backend_buffer_usage usage = GGML_BACKEND_BUFFER_USAGE_WEIGHTS)
        : tensor(ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, ne0, ne1)),
          buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), backend)) {
        ggml_backend_buffer_set_usage(buffer.get(), usage);
        write(tensor, values);
    }
};

inline TestDeviceOptions device_options(const char * name) {
    TestDeviceOptions o;
    o.name = name;
    return o;
}

inline TestDeviceOptions device_without(const char * name, ggml_op op) {
    TestDeviceOptions o = device_options(name);
    o.supports = [op](const ggml_tensor * t) { return t->op != op; };
    return o;
}

} // namespace ggml::test
