// Kernels for a recording test device, and their audit.
#pragma once

#include "ggml-cpp.h"
#include "ggml-ext-tools.h"
#include "tests/support/ext_kit.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace ggml::test {

inline constexpr uint32_t kSafe = GGML_EXT_KERNEL_CAPTURE_SAFE;
inline constexpr uint32_t kReusable = GGML_EXT_KERNEL_CAPTURE_SAFE | GGML_EXT_KERNEL_REPLAY_REUSABLE;
inline constexpr int64_t kLength = 48;

struct Audit {
    explicit Audit(TestDeviceOptions options = recording())
        : device(std::move(options)), backend(device.new_backend()) {}

    static TestDeviceOptions recording() {
        TestDeviceOptions options;
        options.replay = true;
        return options;
    }

    // -(a * a), and another input as the second summand: -(a * a) + b.
    static ggml_tensor * example(ggml_context * ctx) {
        ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
        ggml_tensor * b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
        ggml_set_input(a);
        ggml_set_input(b);
        return ggml_add(ctx, ggml_neg(ctx, ggml_sqr(ctx, a)), b);
    }

    using Build = std::function<ggml_tensor *(ggml_context *)>;
    ggml_ext_status try_run(ggml_ext_audit_result & result, Build build = example) {
        const ggml_ext_tolerance tolerance = {1e-5, 1e-5, 1e-6};
        const auto call = [](ggml_context * ctx, void * self) { return (*static_cast<Build *>(self))(ctx); };
        return ggml_ext_replay_audit(backend.get(), call, &build, &tolerance, &result);
    }
    ggml_ext_audit_result run(Build build = example) {
        ggml_ext_audit_result result;
        EXPECT_EQ(try_run(result, build), GGML_EXT_SUCCESS) << ggml_ext_last_message();
        EXPECT_EQ(device.counters.recordings, 0) << "none stays behind";
        EXPECT_EQ(device.counters.failures, 0);
        return result;
    }

    TestDevice device;
    ggml_backend_ptr backend;
};

// What a kernel of one node with one source does with host addresses, when the device runs it.
struct Addresses {
    const float * from;
    float * to;
    float * scratch; // null without workspace
    int64_t n;
    explicit Addresses(const ggml_ext_execute_params & params)
        : from(static_cast<const float *>(real_address(params.step.nodes[0]->src[0]))),
          to(static_cast<float *>(real_address(params.step.nodes[0]))),
          scratch(static_cast<float *>(real_address(params.workspace))),
          n(ggml_nelements(params.step.nodes[0])) {}
};

inline KernelKit planted(const char * name, ggml_op op, uint32_t flags,
                         std::function<ggml_status(const ggml_ext_execute_params &, void *)> execute) {
    KernelKit kit;
    kit.name = name;
    kit.op = op;
    kit.flags = flags;
    kit.supports = [](const ggml_tensor *, ggml_ext_why_t) { return true; };
    kit.execute = std::move(execute);
    return kit;
}

// Right in every respect: squares through a workspace that it fills itself.
inline KernelKit good_square(const char * name, uint32_t flags = kReusable) {
    KernelKit kit = planted(name, GGML_OP_SQR, flags, [](const ggml_ext_execute_params & params, void *) {
        enqueue(params.backend, [a = Addresses(params)] {
            for (int64_t i = 0; i < a.n; ++i) a.scratch[i] = a.from[i] * a.from[i];
            for (int64_t i = 0; i < a.n; ++i) a.to[i] = a.scratch[i];
        });
        return GGML_STATUS_SUCCESS;
    });
    kit.prepare = [](const ggml_ext_prepare_params &, ggml_ext_prepared & prepared) {
        prepared.workspace_bytes = size_t(kLength) * sizeof(float);
        return GGML_STATUS_SUCCESS;
    };
    return kit;
}

inline KernelKit good_negate(const char * name, uint32_t flags = kReusable) {
    return planted(name, GGML_OP_UNARY, flags, [](const ggml_ext_execute_params & params, void *) {
        enqueue(params.backend, [a = Addresses(params)] {
            for (int64_t i = 0; i < a.n; ++i) a.to[i] = -a.from[i];
        });
        return GGML_STATUS_SUCCESS;
    });
}

} // namespace ggml::test
