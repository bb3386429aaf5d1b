// Expectations: what is a breach, what it says, and what follows.
#include "tests/runtime/sched/explained.h"

#include "runtime/sched/sched.h"
#include "tests/support/log_capture.h"

#include <algorithm>
#include <cstring>

namespace ggml::test {
namespace {

ggml_ext_expectation expectation(ggml_ext_expectation_kind kind, const char * nodes, const char * name,
                                 int count = 0, bool is_error = true) {
    return {sizeof(ggml_ext_expectation), kind, nodes, name, count, is_error};
}

struct ext_expect : testing::Test {
    // product = a * b, sum = product + c; SQR of it runs on the CPU
    ext_expect() : m(device()) {
        add_kernel(m.device(), mul_add("t.mul_add", calls));
        KernelKit kit = counted("t.sub", GGML_OP_SUB, calls);
        kit.flags = GGML_EXT_KERNEL_CAPTURE_SAFE;
        add_kernel(m.device(), kit);
        ggml_context * c = m.ctx.get();
        product = ggml_set_name(ggml_mul(c, m.weight(1), m.weight(2)), "product");
        sum = ggml_set_name(ggml_add(c, product, m.weight(3)), "sum");
        squared = ggml_set_name(ggml_sqr(c, sum), "squared");
        rest = ggml_set_name(ggml_sub(c, squared, m.weight(4)), "rest");
        graph = m.graph({rest});
    }
    static TestDeviceOptions device() {
        TestDeviceOptions options = device_without("DEV", GGML_OP_SQR);
        options.replay = true;
        return options;
    }
    void expect(std::vector<ggml_ext_expectation> list) {
        ASSERT_EQ(ggml_ext_sched_expect(m.sched(), list.data(), list.size()), GGML_EXT_SUCCESS);
    }
    // Allocates, and gives it back. Empty where nothing was said.
    std::string said(ggml_ext_expectation e, bool allocates) {
        expect({e});
        LogCapture log;
        EXPECT_EQ(ggml_backend_sched_alloc_graph(m.sched(), graph), allocates) << log.text;
        ggml_backend_sched_reset(m.sched());
        for (ggml_tensor * t : {product, sum, squared, rest}) t->buffer = nullptr, t->data = nullptr;
        return log.text;
    }
    static bool has(const std::string & text, const char * part) {
        return text.find(part) != std::string::npos;
    }

    std::shared_ptr<Calls> calls = std::make_shared<Calls>();
    ExtMachine m;
    ggml_tensor *product, *sum, *squared, *rest;
    ggml_cgraph * graph;
};

TEST_F(ext_expect, graphs_that_are_as_expected_run_and_nothing_is_said) {
    expect({expectation(GGML_EXT_EXPECT_DEVICE, "product", "DEV"),
            expectation(GGML_EXT_EXPECT_DEVICE, "SQR", "CPU"),
            expectation(GGML_EXT_EXPECT_KERNEL, "s?m", "t.mul_add"),
            expectation(GGML_EXT_EXPECT_KERNEL, "SUB", "t.sub"),
            expectation(GGML_EXT_EXPECT_FUSION, nullptr, "t.mul_add", 1)});
    LogCapture log;
    EXPECT_EQ(m.compute(graph, rest)[0], 1005 * 1005 + 4 + 1000);
    EXPECT_EQ(log.text, "");
}

TEST_F(ext_expect, a_node_on_another_device_fails_the_allocation_and_says_why) {
    const std::string text = said(expectation(GGML_EXT_EXPECT_DEVICE, nullptr, "DEV"), false);
    EXPECT_TRUE(has(text, "expectation 0 (DEVICE nodes * on DEV): 'squared' (SQR) runs on CPU: "
                          "selection.no_native: DEV itself does not run SQR"))
        << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXPECT_DEVICE);
    EXPECT_TRUE(has(ggml_ext_last_message(), "'squared'"));
    EXPECT_EQ(sum->buffer, nullptr) << "nothing is allocated";
    EXPECT_EQ(squared->src[0], sum) << "and the graph is as it was";
}

TEST_F(ext_expect, names_that_do_not_exist_and_patterns_without_nodes_are_breaches) {
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_DEVICE, "rest", "GPU"), false),
                    "the scheduler has no backend of that name"));
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_DEVICE, "prod", "DEV"), false), "no node matches"));
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_KERNEL, "nobody*", "t.sub"), false), "no node matches"));
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_KERNEL, "rest", "t.other"), false),
                    "'rest' (SUB) is computed by t.sub on DEV: DEV has no kernel of that name"));
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_FUSION, nullptr, "t.other", 1), false),
                    "no device that computes nodes of this graph has a rule of that name"));
    EXPECT_EQ(said(expectation(GGML_EXT_EXPECT_FUSION, nullptr, "t.other", 0), true), "");
}

TEST_F(ext_expect, a_node_computed_by_something_else_is_a_breach_with_the_losers_reason) {
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_KERNEL, "rest", "t.mul_add"), false),
                    "fusion.no_match: no step of the device's 1 nodes begins with MUL"));
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXPECT_KERNEL);
    ggml_ext_policy policy = ggml_ext_policy_default();
    const char * off[] = {"t.sub"};
    policy.disabled = off;
    policy.n_disabled = 1;
    ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_KERNEL, "rest", "t.sub"), false),
                    "is computed by the device itself on DEV: selection.disabled: "));
}

TEST_F(ext_expect, a_rule_that_fired_next_to_the_node_is_said_to_claim_no_single_one) {
    graph = m.graph({ggml_neg(m.ctx.get(), sum)});
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_KERNEL, "NEG", "t.mul_add"), false),
                    "selection.fusion_only: it fired 1 times, elsewhere"));
}

TEST_F(ext_expect, a_rule_that_fires_more_or_less_often_is_a_breach_with_its_longest_match) {
    EXPECT_TRUE(has(said(expectation(GGML_EXT_EXPECT_FUSION, nullptr, "t.mul_add", 0), false),
                    "(FUSION t.mul_add 0 times): it fired 1 times (expect.fusion)"));
    ggml_set_output(product);
    const std::string text = said(expectation(GGML_EXT_EXPECT_FUSION, nullptr, "t.mul_add", 1), false);
    EXPECT_TRUE(has(text, "it fired 0 times; its longest other match had 2 nodes: fusion.output_flag: "))
        << text;
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXPECT_FUSION);
}

TEST_F(ext_expect, a_warning_is_one_line_for_each_allocated_graph_and_changes_nothing) {
    const auto e = expectation(GGML_EXT_EXPECT_DEVICE, nullptr, "DEV", 0, false);
    const auto replay = expectation(GGML_EXT_EXPECT_REPLAY, nullptr, "DEV", 1, false);
    expect({e, replay});
    for (int graphs = 0; graphs < 2; ++graphs) {
        LogCapture log;
        for (int i = 0; i < 2; ++i)
            ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched(), graph), GGML_STATUS_SUCCESS);
        EXPECT_TRUE(has(log.text, "(expect.device)"));
        EXPECT_TRUE(has(log.text, "(expect.replay)"));
        EXPECT_EQ(occurrences(log.text, "expectation "), 2) << log.text;
        ggml_backend_sched_reset(m.sched());
        for (ggml_tensor * t : {product, sum, squared, rest}) t->buffer = nullptr, t->data = nullptr;
    }
}

TEST_F(ext_expect, an_execution_that_should_have_been_a_replay_fails_and_names_the_obstacle) {
    // The rule is not capture-safe, so that the first split of the device is never a replay.
    expect({expectation(GGML_EXT_EXPECT_REPLAY, nullptr, "DEV", 3)});
    LogCapture log;
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(occurrences(log.text, "expectation "), 0) << log.text;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), graph), GGML_STATUS_FAILED);
    EXPECT_TRUE(has(log.text, "expectation 0 (REPLAY DEV from execution 3 on): execution 3, split 0: "
                              "replay.kernel_not_safe: t.mul_add is registered without CAPTURE_SAFE"))
        << log.text;
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_EXPECT_REPLAY);
}

TEST_F(ext_expect, replays_from_the_named_execution_on_are_as_expected) {
    ggml_ext_policy policy = ggml_ext_policy_default();
    policy.fusion = false; // leaves a native split and one that is recorded
    ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
    ggml_tensor * only = ggml_sub(m.ctx.get(), m.weight(1), m.weight(2));
    ggml_cgraph * replayed = m.graph({only});
    expect({expectation(GGML_EXT_EXPECT_REPLAY, nullptr, "DEV", 3)});
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), replayed), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched()), 1);
    // Without any extension nobody records, which is not what was expected either.
    ggml_backend_sched_reset(m.sched());
    expect({expectation(GGML_EXT_EXPECT_REPLAY, nullptr, "DEV", 1)});
    ggml_cgraph * native = m.graph({ggml_neg(m.ctx.get(), m.weight(1))});
    LogCapture log;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), native), GGML_STATUS_FAILED);
    EXPECT_TRUE(has(log.text, "replay.native_split")) << log.text;
    // Nor is a graph that does not touch the device.
    ggml_backend_sched_reset(m.sched());
    expect({expectation(GGML_EXT_EXPECT_REPLAY, nullptr, "GPU", 1)});
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), m.graph({ggml_neg(m.ctx.get(), m.weight(1))})),
              GGML_STATUS_FAILED);
    EXPECT_TRUE(has(log.text, "no split runs on a backend of that name")) << log.text;
}

TEST_F(ext_expect, a_callback_that_looks_at_nodes_is_an_obstacle_too) {
    expect({expectation(GGML_EXT_EXPECT_REPLAY, nullptr, "DEV", 1)});
    ggml_backend_sched_set_eval_callback(
        m.sched(), [](ggml_tensor *, bool, void *) { return true; }, nullptr);
    ggml_tensor * only = ggml_sub(m.ctx.get(), m.weight(1), m.weight(2));
    LogCapture log;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), m.graph({only})), GGML_STATUS_FAILED);
    EXPECT_TRUE(has(log.text, "replay.off: an evaluation callback")) << log.text;
}

TEST_F(ext_expect, new_ones_replace_the_old_and_none_removes_them) {
    expect({expectation(GGML_EXT_EXPECT_DEVICE, nullptr, "DEV")});
    EXPECT_EQ(said(expectation(GGML_EXT_EXPECT_DEVICE, "sum", "DEV"), true), "");
    expect({expectation(GGML_EXT_EXPECT_DEVICE, nullptr, "DEV")});
    expect({});
    EXPECT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), graph));
}

TEST_F(ext_expect, refuses_what_makes_no_sense_and_keeps_what_was_set) {
    expect({expectation(GGML_EXT_EXPECT_DEVICE, nullptr, "DEV")});
    const auto refused = [&](ggml_ext_expectation second, ggml_ext_reason reason) {
        const ggml_ext_expectation list[] = {expectation(GGML_EXT_EXPECT_DEVICE, "a", "b"), second};
        EXPECT_EQ(ggml_ext_sched_expect(m.sched(), list, 2), GGML_EXT_INVALID);
        EXPECT_EQ(ggml_ext_last_reason(), reason) << ggml_ext_last_message();
    };
    ggml_ext_expectation e = expectation(GGML_EXT_EXPECT_DEVICE, nullptr, "DEV");
    e.struct_size -= 1;
    refused(e, GGML_EXT_REASON_STRUCT_SIZE);
    refused(expectation(GGML_EXT_EXPECT_KERNEL, nullptr, nullptr), GGML_EXT_REASON_NULL_ARGUMENT);
    refused(expectation(GGML_EXT_EXPECT_FUSION, nullptr, "r", -1), GGML_EXT_REASON_EXPECT_MALFORMED);
    refused(expectation(GGML_EXT_EXPECT_REPLAY, nullptr, "r", 0), GGML_EXT_REASON_EXPECT_MALFORMED);
    e = expectation(GGML_EXT_EXPECT_DEVICE, nullptr, "DEV");
    const int kind = 4;
    std::memcpy(&e.kind, &kind, sizeof(kind));
    refused(e, GGML_EXT_REASON_EXPECT_MALFORMED);
    EXPECT_EQ(ggml_ext_sched_expect(nullptr, nullptr, 0), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_sched_expect(m.sched(), nullptr, 1), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched(), graph)) << "the first list still holds";
}

TEST(ext_expect_pattern, star_stands_for_any_characters_and_question_mark_for_one) {
    using sched::matches_pattern;
    for (const char * pattern :
         {"blk.3.attn", "*", "blk*", "*attn", "b*3*n", "blk.?.attn", "**", "?*", "*.*.*"})
        EXPECT_TRUE(matches_pattern("blk.3.attn", pattern)) << pattern;
    for (const char * pattern : {"", "blk", "attn", "blk.?attn", "*x*", "blk.3.attn?", "?", "*.4.*", "BLK*"})
        EXPECT_FALSE(matches_pattern("blk.3.attn", pattern)) << pattern;
    EXPECT_TRUE(matches_pattern("", "*"));
    EXPECT_TRUE(matches_pattern("", ""));
    EXPECT_FALSE(matches_pattern("", "?"));
    EXPECT_TRUE(matches_pattern("aab", "*ab")) << "the star gives back";
    EXPECT_TRUE(matches_pattern("a*b", "a*b"));
}

} // namespace
} // namespace ggml::test
