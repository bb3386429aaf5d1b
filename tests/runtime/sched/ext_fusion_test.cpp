// Fused steps in scheduled graphs: storage, ranges around them, where fusion is off, reordering.
#include "tests/runtime/sched/ext_fixture.h"

#include "tests/support/log_capture.h"

namespace ggml::test {
namespace {

struct ext_fusion : testing::Test {
    std::shared_ptr<Calls> calls = std::make_shared<Calls>();
};

struct Chain {
    ggml_tensor *a, *b, *c, *product, *sum;
    explicit Chain(ExtMachine & m) : a(m.weight(1)), b(m.weight(2)), c(m.weight(3)) {
        product = ggml_mul(m.ctx.get(), a, b);
        sum = ggml_add(m.ctx.get(), product, c);
    }
    float expected(size_t i) const { return float((1 + i) * (2 + i) + 3 + i); }
};

TEST_F(ext_fusion, a_match_runs_as_one_step_and_its_intermediate_has_no_storage) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    EXPECT_EQ(m.compute(m.graph({chain.sum}), chain.sum)[4], chain.expected(4) + 1000);
    EXPECT_EQ(calls->executes, 1);
    EXPECT_EQ(m.machine.devices[0]->counters.nodes, 0);
    EXPECT_EQ(chain.product->data, nullptr);
    EXPECT_EQ(chain.product->buffer, nullptr);
    EXPECT_EQ(chain.product->src[0], chain.a) << "edges stay";
}

TEST_F(ext_fusion, an_external_consumer_keeps_the_nodes_apart) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    ggml_tensor * other = ggml_sqr(m.ctx.get(), chain.product);
    EXPECT_EQ(m.compute(m.graph({chain.sum, other}), chain.sum)[4], chain.expected(4));
    EXPECT_EQ(calls->executes, 0);
    EXPECT_GE(calls->matches, 1);
}

TEST_F(ext_fusion, a_consumer_on_another_device_counts) {
    ExtMachine m(device_without("DEV", GGML_OP_SQR));
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    ggml_tensor * other = ggml_sqr(m.ctx.get(), chain.product);
    ggml_set_output(other);
    EXPECT_EQ(m.compute(m.graph({chain.sum, other}), other)[0], 4);
    EXPECT_EQ(calls->executes, 0);
}

TEST_F(ext_fusion, an_output_flag_keeps_the_intermediate) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    ggml_set_output(chain.product);
    EXPECT_EQ(m.compute(m.graph({chain.sum}), chain.product)[4], 30);
    EXPECT_EQ(calls->executes, 0);
}

TEST_F(ext_fusion, inputs_stay_allocated_through_the_final_node) {
    // The first node's inputs are temporary; without care the sum would be given their storage.
    ExtMachine m;
    std::vector<ggml_ext_overlap> overlaps;
    KernelKit kit = mul_add("t.mul_add", calls);
    const auto execute = kit.execute;
    kit.execute = [&](const ggml_ext_execute_params & params, void * state) {
        const ggml_tensor *mul = params.step.nodes[0], *add = params.step.nodes[1];
        for (const ggml_tensor * input : {mul->src[0], mul->src[1], add->src[1]}) {
            overlaps.push_back(ggml_ext_tensor_overlap(add, input));
        }
        return execute(params, state);
    };
    add_kernel(m.device(), kit);
    ggml_context * c = m.ctx.get();
    ggml_tensor *a = ggml_sqr(c, m.weight(1)), *b = ggml_sqr(c, m.weight(2)), *d = ggml_sqr(c, m.weight(3));
    ggml_cgraph * g = ggml_new_graph_custom(c, 64, false);
    for (ggml_tensor * t : {a, b, d}) ggml_build_forward_expand(g, t);
    ggml_tensor * sum = ggml_add(c, ggml_mul(c, a, b), d);
    ggml_build_forward_expand(g, sum);
    EXPECT_EQ(m.compute(g, sum)[0], 1 * 4 + 9 + 1000);
    EXPECT_EQ(overlaps, (std::vector<ggml_ext_overlap>(3, GGML_EXT_OVERLAP_NONE)));
}

TEST_F(ext_fusion, fusion_saves_the_storage_of_what_it_leaves_out) {
    const auto bytes = [this](bool fuse) {
        ExtMachine m;
        if (fuse) add_kernel(m.device(), mul_add("t.mul_add", calls));
        ggml_tensor * x = m.weight(1);
        ggml_cgraph * g = ggml_new_graph_custom(m.ctx.get(), 64, false);
        std::vector<ggml_tensor *> sums;
        for (int i = 0; i < 3; ++i) {
            ggml_tensor * p = ggml_mul(m.ctx.get(), x, m.weight(2));
            ggml_build_forward_expand(g, sums.emplace_back(ggml_add(m.ctx.get(), p, m.weight(3))));
            ggml_set_output(sums.back());
        }
        size_t sizes[2];
        ggml_backend_sched_reserve_size(m.sched(), g, sizes);
        return sizes[0];
    };
    EXPECT_LT(bytes(true), bytes(false) + 1);
    EXPECT_EQ(bytes(true), 3 * kElements * sizeof(float));
}

TEST_F(ext_fusion, changing_what_is_fused_replaces_the_skipped_set_though_shapes_are_equal) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    ggml_cgraph * g = m.graph({chain.sum});
    EXPECT_EQ(m.compute(g, chain.sum)[0], chain.expected(0) + 1000);
    ggml_backend_sched_reset(m.sched());
    ggml_context_ptr second = make_context();
    m.ctx.swap(second);
    Chain again(m);
    ggml_set_output(again.product);
    EXPECT_EQ(m.compute(m.graph({again.sum}), again.sum)[0], again.expected(0));
    EXPECT_EQ(read(again.product)[0], 2);
}

TEST_F(ext_fusion, is_off_with_several_pipeline_copies_and_with_an_evaluation_callback) {
    ExtMachine parallel(device_options("DEV"), /*parallel=*/true);
    add_kernel(parallel.device(), mul_add("t.mul_add", calls));
    Chain a(parallel);
    EXPECT_EQ(parallel.compute(parallel.graph({a.sum}), a.sum)[0], a.expected(0));
    ExtMachine observed;
    add_kernel(observed.device(), mul_add("t.mul_add", calls));
    int seen = 0;
    ggml_backend_sched_set_eval_callback(
        observed.sched(),
        [](ggml_tensor *, bool ask, void * n) { return *static_cast<int *>(n) += !ask, true; }, &seen);
    Chain b(observed);
    EXPECT_EQ(observed.compute(observed.graph({b.sum}), b.sum)[0], b.expected(0));
    EXPECT_EQ(seen, 2);
    EXPECT_EQ(calls->matches, 0);
}

TEST_F(ext_fusion, a_callback_set_after_allocation_is_refused_when_nodes_have_lost_their_storage) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    ggml_cgraph * g = m.graph({chain.sum});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    ggml_backend_sched_set_eval_callback(
        m.sched(), [](ggml_tensor *, bool, void *) { return true; }, nullptr);
    LogCapture log;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), g), GGML_STATUS_FAILED);
    EXPECT_NE(log.text.find("run.callback_after_fusion"), std::string::npos) << log.text;
}

TEST_F(ext_fusion, a_change_that_breaks_a_match_after_allocation_is_an_error) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    ggml_cgraph * g = m.graph({chain.sum});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    std::swap(chain.sum->src[0], chain.sum->src[1]); // no longer what the rule takes
    LogCapture log;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), g), GGML_STATUS_FAILED);
    EXPECT_NE(log.text.find("run.plan_stale"), std::string::npos) << log.text;
}

TEST_F(ext_fusion, direct_computation_does_not_fuse) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Chain chain(m);
    ggml_cgraph * g = m.graph({chain.sum});
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(m.ctx.get(), m.backend()));
    EXPECT_EQ(ggml_backend_graph_compute(m.backend(), g), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(chain.sum)[0], chain.expected(0));
    EXPECT_EQ(calls->matches, 0);
}

TEST_F(ext_fusion, optimize_brings_an_interleaved_producer_out_of_the_way) {
    ExtMachine m;
    KernelKit kit = mul_add("t.mul_add", calls);
    int delays = 0;
    kit.optimize = [&](ggml_cgraph * g) {
        for (int i = 0; i + 2 < ggml_graph_n_nodes(g); ++i) {
            // mul, something else, add(mul, ...): the mul goes behind the something.
            if (ggml_graph_node(g, i)->op != GGML_OP_MUL || ggml_graph_node(g, i + 2)->op != GGML_OP_ADD)
                continue;
            delays += ggml_ext_graph_delay(g, i, 1, i + 1) == GGML_EXT_SUCCESS;
        }
    };
    add_kernel(m.device(), kit);
    ggml_context * c = m.ctx.get();
    ggml_tensor * product = ggml_mul(c, m.weight(1), m.weight(2));
    ggml_tensor * shift = ggml_sqr(c, m.weight(3));
    ggml_cgraph * g = ggml_new_graph_custom(c, 64, false);
    ggml_build_forward_expand(g, product);
    ggml_build_forward_expand(g, shift);
    ggml_tensor * sum = ggml_add(c, product, shift);
    ggml_build_forward_expand(g, sum);
    EXPECT_EQ(m.compute(g, sum)[0], 2 + 9 + 1000);
    EXPECT_EQ(delays, 1);
    EXPECT_EQ(calls->executes, 1);
    EXPECT_EQ(ggml_graph_node(g, 0), product) << "the caller's graph keeps its order";
}

TEST_F(ext_fusion, a_match_beyond_the_devices_nodes_is_refused) {
    ExtMachine m;
    KernelKit kit = mul_add("t.mul_add", calls);
    for (const int answer : {-1, 1, 100}) {
        KernelKit wrong = kit;
        wrong.name = "t.wrong" + std::to_string(answer + 1);
        wrong.match = [answer](const ggml_cgraph *, int, ggml_ext_why_t) { return answer; };
        add_kernel(m.device(), wrong);
    }
    Chain chain(m);
    EXPECT_EQ(m.compute(m.graph({chain.sum}), chain.sum)[0], chain.expected(0));
    EXPECT_EQ(calls->executes, 0);
}

TEST_F(ext_fusion, the_device_may_skip_the_storage_of_nodes_it_fuses_itself) {
    TestDeviceOptions options = device_options("DEV");
    const ggml_tensor * inner = nullptr;
    options.skip_alloc = [&](const ggml_cgraph *, const ggml_tensor * t) { return t == inner; };
    ExtMachine m(options);
    ggml_tensor * x = ggml_sqr(m.ctx.get(), m.weight(1));
    inner = x;
    ggml_tensor * y = ggml_neg(m.ctx.get(), x);
    EXPECT_EQ(m.compute(m.graph({y}), y)[1], -4);
    EXPECT_EQ(x->data, nullptr);
}

TEST_F(ext_fusion, policies_switch_rules_and_fusion_off) {
    for (const bool by_name : {true, false}) {
        ExtMachine m;
        add_kernel(m.device(), mul_add("t.mul_add", calls));
        ggml_ext_policy policy = ggml_ext_policy_default();
        const char * names[] = {"t.mul_add"};
        if (by_name) {
            policy.disabled = names;
            policy.n_disabled = 1;
        } else {
            policy.fusion = false;
        }
        ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
        Chain chain(m);
        EXPECT_EQ(m.compute(m.graph({chain.sum}), chain.sum)[0], chain.expected(0));
    }
    ExtMachine m;
    ggml_ext_policy policy = ggml_ext_policy_default();
    policy.struct_size = 3;
    EXPECT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_STRUCT_SIZE);
}

} // namespace
} // namespace ggml::test
