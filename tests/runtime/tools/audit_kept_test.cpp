// What the audit leaves in peace, and where it cannot be carried out.
#include "tests/runtime/tools/audit_fixture.h"

#include "ggml-cpu.h"

#include <cmath>
#include <cstring>

namespace ggml::test {
namespace {

TEST(replay_audit_kept, by_kernels_that_promise_what_they_do) {
    for (const uint32_t flags : {kSafe, kReusable}) {
        Audit audit;
        add_kernel(audit.device.device(), good_square("t.square", flags));
        add_kernel(audit.device.device(), good_negate("t.negate", flags));
        const ggml_ext_audit_result result = audit.run();
        EXPECT_TRUE(result.kept) << result.message;
        EXPECT_EQ(result.reason, GGML_EXT_REASON_NONE);
        EXPECT_STREQ(result.message, "kept by t.square, t.negate");
        EXPECT_GT(audit.device.counters.launches, 20) << "recordings were launched";
    }
}

TEST(replay_audit_kept, by_a_fusion_rule) {
    Audit audit;
    KernelKit kit = good_negate("t.negated_square");
    kit.op = GGML_OP_SQR;
    kit.supports = nullptr;
    kit.match = [](const ggml_cgraph * graph, int first, ggml_ext_why_t why) {
        const ggml_op ops[] = {GGML_OP_SQR, GGML_OP_UNARY};
        return ggml_ext_match_ops(graph, first, ops, 2, why) == 2 ? 2 : 0;
    };
    kit.execute = [](const ggml_ext_execute_params & params, void *) {
        return queue_floats(params, {params.step.nodes[0]->src[0]},
                            [](float * out, const std::vector<const float *> & in, int64_t n) {
                                for (int64_t i = 0; i < n; ++i) out[i] = -in[0][i] * in[0][i];
                            });
    };
    add_kernel(audit.device.device(), kit);
    const ggml_ext_audit_result result = audit.run();
    EXPECT_TRUE(result.kept) << result.message;
    EXPECT_STREQ(result.message, "kept by t.negated_square");
}

TEST(replay_audit_kept, by_results_that_are_not_finite) {
    Audit audit;
    add_kernel(
        audit.device.device(), planted("t.root", GGML_OP_SQRT, kReusable, [](const auto & params, void * s) {
            return elementwise([](const std::vector<float> & v) { return std::sqrt(v[0]); })(params, s);
        }));
    const ggml_ext_audit_result result = audit.run([](ggml_context * ctx) {
        ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
        ggml_set_input(a);
        return ggml_sqrt(ctx, a); // of negative numbers too
    });
    EXPECT_TRUE(result.kept) << result.message;
}

TEST(replay_audit_kept, by_indices_that_stay_within_what_they_look_up) {
    Audit audit;
    add_kernel(audit.device.device(), good_negate("t.negate"));
    const ggml_ext_audit_result result = audit.run([](ggml_context * ctx) {
        ggml_tensor * rows = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 16, 3);
        ggml_tensor * indices = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 5);
        ggml_set_input(rows);
        ggml_set_input(indices);
        return ggml_neg(ctx, ggml_get_rows(ctx, rows, indices));
    });
    EXPECT_TRUE(result.kept) << result.message;
}

TEST(replay_audit_kept, and_nothing_to_audit_without_the_flag) {
    Audit audit;
    add_kernel(audit.device.device(), good_square("t.square", 0));
    const ggml_ext_audit_result result = audit.run();
    EXPECT_TRUE(result.kept);
    EXPECT_EQ(result.reason, GGML_EXT_REASON_REPLAY_KERNEL);
    EXPECT_STREQ(result.message, "nothing to audit: without CAPTURE_SAFE t.square");
    EXPECT_EQ(audit.device.counters.launches, 0);
}

TEST(replay_audit_kept, and_nothing_to_audit_without_kernels) {
    Audit audit;
    const ggml_ext_audit_result result = audit.run();
    EXPECT_TRUE(result.kept);
    EXPECT_EQ(result.reason, GGML_EXT_REASON_AUDIT_NOTHING);
}

TEST(replay_audit_kept, with_kernels_without_the_flag_set_aside) {
    Audit audit;
    add_kernel(audit.device.device(), good_square("t.square", 0));
    add_kernel(audit.device.device(), good_negate("t.negate"));
    const ggml_ext_audit_result result = audit.run();
    EXPECT_TRUE(result.kept);
    EXPECT_EQ(result.reason, GGML_EXT_REASON_NONE);
    EXPECT_STREQ(result.message, "kept by t.negate");
}

TEST(replay_audit_kept, by_graphs_whose_storage_the_builder_brings) {
    Audit audit;
    add_kernel(audit.device.device(), good_negate("t.negate"));
    const ggml_context_ptr own(ggml_init({2 * ggml_tensor_overhead(), nullptr, true}));
    ggml_tensor * state = ggml_new_tensor_1d(own.get(), GGML_TYPE_F32, kLength);
    const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(own.get(), audit.backend.get()));
    const std::vector<float> before(size_t(kLength), 2);
    ggml_backend_tensor_set(state, before.data(), 0, ggml_nbytes(state));
    const ggml_ext_audit_result result = audit.run([&](ggml_context * ctx) {
        ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
        ggml_set_input(a);
        // Each execution starts from what the last one left.
        return ggml_cpy(ctx, ggml_neg(ctx, ggml_add(ctx, a, state)), state);
    });
    EXPECT_TRUE(result.kept) << result.message;
    std::vector<float> after(size_t(kLength), 0);
    ggml_backend_tensor_get(state, after.data(), 0, ggml_nbytes(state));
    EXPECT_EQ(after, before) << "the audit puts back what was there";
}

TEST(replay_audit_refused, without_a_device_that_replays) {
    Audit audit{TestDeviceOptions{}};
    ggml_ext_audit_result result;
    EXPECT_EQ(audit.try_run(result), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_REPLAY_NO_DEVICE);
    audit.backend.reset(ggml_backend_cpu_init());
    EXPECT_EQ(audit.try_run(result), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_REPLAY_NO_DEVICE);
}

TEST(replay_audit_refused, where_the_device_may_not_replay_now) {
    Audit audit;
    add_kernel(audit.device.device(), good_square("t.square"));
    ggml_ext_audit_result result;
    audit.device.replay_enabled = false;
    EXPECT_EQ(audit.try_run(result), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_REPLAY_OFF);
    audit.device.replay_enabled = true;
    begin_capture(audit.backend.get());
    EXPECT_EQ(audit.try_run(result), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_REPLAY_ENCLOSED);
    end_capture(audit.backend.get());
    TestDeviceOptions options = Audit::recording();
    options.stable_addresses = false;
    Audit moving(options);
    EXPECT_EQ(moving.try_run(result), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_REPLAY_ADDRESSES);
}

TEST(replay_audit_refused, when_arguments_are_missing) {
    Audit audit;
    const ggml_ext_tolerance tolerance = {};
    ggml_ext_audit_result result;
    const auto build = [](ggml_context *, void *) -> ggml_tensor * { return nullptr; };
    ggml_backend_t backend = audit.backend.get();
    EXPECT_EQ(ggml_ext_replay_audit(nullptr, build, nullptr, &tolerance, &result), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_replay_audit(backend, nullptr, nullptr, &tolerance, &result), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_replay_audit(backend, build, nullptr, nullptr, &result), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_replay_audit(backend, build, nullptr, &tolerance, nullptr), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    const ggml_ext_tolerance negative = {0, 0, -1};
    EXPECT_EQ(ggml_ext_replay_audit(backend, build, nullptr, &negative, &result), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_TOLERANCE);
    EXPECT_EQ(ggml_ext_replay_audit(backend, build, nullptr, &tolerance, &result), GGML_EXT_FAILED);
    EXPECT_NE(std::strstr(ggml_ext_last_message(), "builder"), nullptr);
}

TEST(replay_audit_refused, when_the_graph_does_not_run) {
    Audit audit;
    KernelKit kit = good_square("t.square");
    kit.execute = [](const ggml_ext_execute_params &, void *) { return GGML_STATUS_FAILED; };
    add_kernel(audit.device.device(), kit);
    ggml_ext_audit_result result;
    EXPECT_EQ(audit.try_run(result), GGML_EXT_FAILED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXECUTE_FAILED);
}

} // namespace
} // namespace ggml::test
