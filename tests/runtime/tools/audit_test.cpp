// Kernels whose flags say more than they keep, and what the audit says of each.
#include "tests/runtime/tools/audit_fixture.h"

#include <cstring>
#include <map>
#include <memory>

namespace ggml::test {
namespace {

// The fault is found, named, and blamed on this kernel alone though there is another.
void expect_broken(const ggml_ext_audit_result & result, ggml_ext_reason reason, const char * kernel) {
    EXPECT_FALSE(result.kept);
    EXPECT_STREQ(ggml_ext_reason_name(result.reason), ggml_ext_reason_name(reason)) << result.message;
    EXPECT_EQ(std::string(result.message).rfind(std::string(kernel) + ": ", 0), 0u) << result.message;
}

TEST(replay_audit, finds_host_work_that_is_needed_each_time) {
    for (const bool first : {true, false}) {
        Audit audit;
        auto ready = std::make_shared<bool>(false);
        const auto execute = [ready](const ggml_ext_execute_params & params, void *) {
            *ready = true; // forgotten by a replay
            enqueue(params.backend, [ready, a = Addresses(params)] {
                for (int64_t i = 0; i < a.n; ++i) a.to[i] = *ready ? -a.from[i] : 0;
                *ready = false;
            });
            return GGML_STATUS_SUCCESS;
        };
        // In either order of registration and with either flag.
        if (first) add_kernel(audit.device.device(), good_square("t.square"));
        add_kernel(audit.device.device(),
                   planted("t.negate", GGML_OP_UNARY, first ? kReusable : kSafe, execute));
        if (!first) add_kernel(audit.device.device(), good_square("t.square"));
        expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_HOST_WORK, "t.negate");
    }
}

TEST(replay_audit, finds_results_that_change_from_execution_to_execution) {
    Audit audit;
    auto count = std::make_shared<int>(0);
    add_kernel(audit.device.device(), good_square("t.square"));
    add_kernel(
        audit.device.device(),
        planted("t.negate", GGML_OP_UNARY, kSafe, [count](const ggml_ext_execute_params & params, void *) {
            enqueue(params.backend, [value = ++*count, a = Addresses(params)] {
                for (int64_t i = 0; i < a.n; ++i) a.to[i] = float(value) - a.from[i];
            });
            return GGML_STATUS_SUCCESS;
        }));
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_HOST_WORK, "t.negate");
}

TEST(replay_audit, finds_work_that_is_queued_only_once) {
    Audit audit;
    KernelKit kit =
        planted("t.square", GGML_OP_SQR, kSafe, [](const ggml_ext_execute_params & params, void * state) {
            if (*static_cast<bool *>(state)) return GGML_STATUS_SUCCESS; // the result is still there
            *static_cast<bool *>(state) = true;
            enqueue(params.backend, [a = Addresses(params)] {
                for (int64_t i = 0; i < a.n; ++i) a.to[i] = a.from[i] * a.from[i];
            });
            return GGML_STATUS_SUCCESS;
        });
    kit.prepare = [](const ggml_ext_prepare_params &, ggml_ext_prepared & prepared) {
        prepared.state = new bool(false);
        return GGML_STATUS_SUCCESS;
    };
    kit.destroy = [](void * state) { delete static_cast<bool *>(state); };
    add_kernel(audit.device.device(), kit);
    const auto build = [](ggml_context * ctx) {
        ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
        ggml_set_input(a);
        ggml_set_output(a); // so that the result has a place of its own, where it could stay
        return ggml_sqr(ctx, a);
    };
    expect_broken(audit.run(build), GGML_EXT_REASON_AUDIT_HOST_WORK, "t.square");
}

TEST(replay_audit, finds_decisions_on_the_contents_of_tensors) {
    Audit audit;
    add_kernel(audit.device.device(), good_negate("t.negate"));
    add_kernel(audit.device.device(), planted("t.square", GGML_OP_SQR, kReusable,
                                              [](const ggml_ext_execute_params & params, void *) {
                                                  const Addresses a(params);
                                                  // Nothing is queued before, so the host may look.
                                                  const bool skip = a.from[0] == 0 && a.from[1] == 0;
                                                  enqueue(params.backend, [a, skip] {
                                                      for (int64_t i = 0; i < a.n; ++i)
                                                          a.to[i] = skip ? 0 : a.from[i] * a.from[i];
                                                  });
                                                  return GGML_STATUS_SUCCESS;
                                              }));
    const ggml_ext_audit_result result = audit.run();
    expect_broken(result, GGML_EXT_REASON_AUDIT_CONTENTS, "t.square");
    EXPECT_NE(std::string(result.message).find("recorded with zeros"), std::string::npos) << result.message;
}

TEST(replay_audit, finds_decisions_on_the_sign_of_inputs) {
    Audit audit;
    add_kernel(audit.device.device(),
               planted("t.square", GGML_OP_SQR, kSafe, [](const ggml_ext_execute_params & params, void *) {
                   const Addresses a(params);
                   enqueue(params.backend, [a, negative = a.from[0] < 0] {
                       for (int64_t i = 0; i < a.n; ++i) a.to[i] = negative ? 1 : a.from[i] * a.from[i];
                   });
                   return GGML_STATUS_SUCCESS;
               }));
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_CONTENTS, "t.square");
}

// State with a factor that is spoiled when the plan ends; freed with the test.
struct States {
    std::vector<std::unique_ptr<float>> all;
    KernelKit into(KernelKit kit) {
        kit.prepare = [this](const ggml_ext_prepare_params &, ggml_ext_prepared & prepared) {
            prepared.state = all.emplace_back(std::make_unique<float>(-1.0f)).get();
            return GGML_STATUS_SUCCESS;
        };
        kit.destroy = [](void * state) { *static_cast<float *>(state) = 7; };
        return kit;
    }
};

ggml_status multiply_by_state(const ggml_ext_execute_params & params, void * state) {
    enqueue(params.backend, [a = Addresses(params), factor = static_cast<const float *>(state)] {
        for (int64_t i = 0; i < a.n; ++i) a.to[i] = *factor * a.from[i];
    });
    return GGML_STATUS_SUCCESS;
}

TEST(replay_audit, finds_reusable_work_that_uses_the_state_of_its_plan) {
    States states;
    Audit audit;
    add_kernel(audit.device.device(), good_square("t.square"));
    add_kernel(audit.device.device(),
               states.into(planted("t.negate", GGML_OP_UNARY, kReusable, multiply_by_state)));
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_PLAN_STATE, "t.negate");
}

TEST(replay_audit, state_of_the_plan_is_allowed_without_reuse) {
    States states;
    Audit audit;
    add_kernel(audit.device.device(),
               states.into(planted("t.negate", GGML_OP_UNARY, kSafe, multiply_by_state)));
    const ggml_ext_audit_result result = audit.run();
    EXPECT_TRUE(result.kept) << result.message;
}

TEST(replay_audit, finds_what_an_earlier_step_left_in_the_workspace) {
    Audit audit;
    add_kernel(audit.device.device(), good_square("t.square")); // leaves its result there
    KernelKit kit =
        planted("t.negate", GGML_OP_UNARY, kReusable, [](const ggml_ext_execute_params & params, void *) {
            enqueue(params.backend, [a = Addresses(params)] {
                for (int64_t i = 0; i < a.n; ++i) a.to[i] = -a.scratch[i];
            });
            return GGML_STATUS_SUCCESS;
        });
    kit.prepare = good_square("").prepare;
    add_kernel(audit.device.device(), kit);
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_WORKSPACE, "t.negate");
}

TEST(replay_audit, finds_a_workspace_that_is_filled_only_once) {
    Audit audit;
    add_kernel(audit.device.device(), good_negate("t.negate"));
    KernelKit kit =
        planted("t.square", GGML_OP_SQR, kSafe, [](const ggml_ext_execute_params & params, void * state) {
            const bool fill = !*static_cast<bool *>(state);
            *static_cast<bool *>(state) = true;
            enqueue(params.backend, [a = Addresses(params), fill] {
                if (fill) a.scratch[0] = 1;
                for (int64_t i = 0; i < a.n; ++i) a.to[i] = a.scratch[0] * a.from[i] * a.from[i];
            });
            return GGML_STATUS_SUCCESS;
        });
    kit.prepare = [](const ggml_ext_prepare_params &, ggml_ext_prepared & prepared) {
        prepared.workspace_bytes = sizeof(float);
        prepared.state = new bool(false);
        return GGML_STATUS_SUCCESS;
    };
    kit.destroy = [](void * state) { delete static_cast<bool *>(state); };
    add_kernel(audit.device.device(), kit);
    const ggml_ext_audit_result result = audit.run();
    expect_broken(result, GGML_EXT_REASON_AUDIT_WORKSPACE, "t.square");
    EXPECT_NE(std::string(result.message).find("replayed after the workspace was overwritten"),
              std::string::npos)
        << result.message;
}

// Reads the parameters of its node when the device runs it.
ggml_status scale_by_node(const ggml_ext_execute_params & params, void *) {
    enqueue(params.backend, [a = Addresses(params), node = params.step.nodes[0]] {
        float factor;
        std::memcpy(&factor, node->op_params, sizeof(factor));
        for (int64_t i = 0; i < a.n; ++i) a.to[i] = factor * a.from[i];
    });
    return GGML_STATUS_SUCCESS;
}

ggml_tensor * scaled(ggml_context * ctx) {
    ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
    ggml_set_input(a);
    return ggml_sqr(ctx, ggml_scale(ctx, a, 3));
}

TEST(replay_audit, finds_reusable_work_that_reads_an_old_graph) {
    Audit audit;
    add_kernel(audit.device.device(), good_square("t.square"));
    add_kernel(audit.device.device(), planted("t.scale", GGML_OP_SCALE, kReusable, scale_by_node));
    expect_broken(audit.run(scaled), GGML_EXT_REASON_AUDIT_OLD_GRAPH, "t.scale");
}

TEST(replay_audit, finds_kernels_that_know_where_the_first_graph_lay) {
    Audit audit;
    // A slot of the kernel's own for each place it is called with; the results tell which.
    auto slots = std::make_shared<std::map<const float *, float>>();
    add_kernel(audit.device.device(), good_negate("t.negate"));
    add_kernel(
        audit.device.device(),
        planted("t.square", GGML_OP_SQR, kReusable, [slots](const ggml_ext_execute_params & params, void *) {
            const Addresses a(params);
            const float slot = slots->emplace(a.from, float(slots->size())).first->second;
            enqueue(params.backend, [a, slot] {
                for (int64_t i = 0; i < a.n; ++i) a.to[i] = a.from[i] * a.from[i] + slot;
            });
            return GGML_STATUS_SUCCESS;
        }));
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_OLD_MEMORY, "t.square");
}

TEST(replay_audit, finds_plans_that_take_along_what_others_still_use) {
    Audit audit;
    auto factor = std::make_shared<float>(7.0f); // one for all plans
    add_kernel(audit.device.device(), good_square("t.square"));
    KernelKit kit = planted("t.negate", GGML_OP_UNARY, kSafe, multiply_by_state);
    kit.prepare = [factor](const ggml_ext_prepare_params &, ggml_ext_prepared & prepared) {
        *factor = -1;
        prepared.state = factor.get();
        return GGML_STATUS_SUCCESS;
    };
    kit.destroy = [factor](void *) { *factor = 7; };
    add_kernel(audit.device.device(), kit);
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_OLD_MEMORY, "t.negate");
}

TEST(replay_audit, finds_two_recordings_that_share_one_block_of_arguments) {
    Audit audit;
    auto block = std::make_shared<std::unique_ptr<Addresses>>();
    add_kernel(audit.device.device(), good_square("t.square"));
    add_kernel(
        audit.device.device(),
        planted("t.negate", GGML_OP_UNARY, kSafe, [block](const ggml_ext_execute_params & params, void *) {
            *block = std::make_unique<Addresses>(params); // uploaded once for each plan
            enqueue(params.backend, [block] {
                const Addresses & a = **block;
                for (int64_t i = 0; i < a.n; ++i) a.to[i] = -a.from[i];
            });
            return GGML_STATUS_SUCCESS;
        }));
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_SHARED, "t.negate");
}

TEST(replay_audit, finds_kernels_that_cannot_be_recorded) {
    Audit audit;
    add_kernel(audit.device.device(), good_square("t.square"));
    KernelKit kit = good_negate("t.negate");
    kit.execute = [inner = kit.execute](const ggml_ext_execute_params & params, void * state) {
        ggml_backend_synchronize(params.backend);
        return inner(params, state);
    };
    add_kernel(audit.device.device(), kit);
    expect_broken(audit.run(), GGML_EXT_REASON_REPLAY_CAPTURE_FAILED, "t.negate");
}

TEST(replay_audit, names_the_one_that_is_wrong_next_to_one_that_must_stay) {
    States states;
    Audit audit;
    OpKit op;
    op.name = "audit.copy.v1";
    KernelKit copy = good_negate("t.copy");
    copy.op = GGML_OP_CUSTOM;
    copy.custom_op = add_op(op);
    add_kernel(audit.device.device(), copy);
    add_kernel(audit.device.device(),
               states.into(planted("t.negate", GGML_OP_UNARY, kReusable, multiply_by_state)));
    const auto build = [&](ggml_context * ctx) {
        ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
        ggml_set_input(t);
        t = ggml_neg(ctx, t);
        return ggml_ext_op_create(ctx, copy.custom_op, &t, 1, nullptr, 0);
    };
    expect_broken(audit.run(build), GGML_EXT_REASON_AUDIT_PLAN_STATE, "t.negate");
}

TEST(replay_audit, names_the_first_of_several_that_are_wrong) {
    States states;
    Audit audit;
    for (const ggml_op op : {GGML_OP_SQR, GGML_OP_UNARY}) {
        add_kernel(audit.device.device(), states.into(planted(op == GGML_OP_SQR ? "t.square" : "t.negate", op,
                                                              kReusable, multiply_by_state)));
    }
    // Switching one off leaves the other's fault, so each is tried alone.
    expect_broken(audit.run(), GGML_EXT_REASON_AUDIT_PLAN_STATE, "t.square");
}

TEST(replay_audit, names_all_that_are_left_where_none_can_be_switched_off) {
    States states;
    Audit audit;
    KernelKit kits[2];
    for (int i = 0; i < 2; ++i) {
        OpKit op;
        op.name = i == 0 ? "audit.first.v1" : "audit.second.v1";
        kits[i] = states.into(
            planted(i == 0 ? "t.first" : "t.second", GGML_OP_CUSTOM, kReusable, multiply_by_state));
        kits[i].custom_op = add_op(op);
        add_kernel(audit.device.device(), kits[i]);
    }
    const auto build = [&](ggml_context * ctx) {
        ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kLength);
        ggml_set_input(t);
        for (const KernelKit & kit : kits) t = ggml_ext_op_create(ctx, kit.custom_op, &t, 1, nullptr, 0);
        return t;
    };
    expect_broken(audit.run(build), GGML_EXT_REASON_AUDIT_PLAN_STATE, "one of t.first, t.second");
}

} // namespace
} // namespace ggml::test
