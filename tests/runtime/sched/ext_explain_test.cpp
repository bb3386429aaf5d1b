// Explain: what a dry run tells, and that it leaves no trace.
#include "tests/runtime/sched/explained.h"

#include "tests/support/log_capture.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace ggml::test {
namespace {

// Everything explain might touch of a graph's tensors.
struct Snapshot {
    explicit Snapshot(ggml_cgraph * g) {
        for (int i = 0; i < ggml_graph_n_nodes(g); ++i) {
            ggml_tensor * node = ggml_graph_node(g, i);
            tensors.push_back(*node);
            for (const ggml_tensor * src : node->src) {
                if (src != nullptr) tensors.push_back(*src);
            }
        }
    }
    bool operator==(const Snapshot & other) const {
        const auto equal = [](const ggml_tensor & a, const ggml_tensor & b) {
            return a.flags == b.flags && a.data == b.data && a.buffer == b.buffer && a.extra == b.extra &&
                   a.view_src == b.view_src && std::equal(a.src, a.src + GGML_MAX_SRC, b.src);
        };
        return std::equal(tensors.begin(), tensors.end(), other.tensors.begin(), other.tensors.end(), equal);
    }
    std::vector<ggml_tensor> tensors;
};

struct ext_explain : testing::Test {
    std::shared_ptr<Calls> calls = std::make_shared<Calls>();
};

// product = a * b, sum = product + c
struct Sum {
    ggml_tensor *a, *b, *c, *product, *sum;
    explicit Sum(ExtMachine & m) : a(m.weight(1)), b(m.weight(2)), c(m.weight(3)) {
        product = ggml_set_name(ggml_mul(m.ctx.get(), a, b), "product");
        sum = ggml_set_name(ggml_add(m.ctx.get(), product, c), "sum");
    }
};

TEST_F(ext_explain, lists_the_chosen_kernel_and_why_each_other_was_not) {
    ExtMachine m;
    KernelKit picky = counted("t.picky", GGML_OP_MUL, calls);
    picky.priority = 2;
    picky.supports = [](const ggml_tensor * t, ggml_ext_why_t why) {
        return ggml_ext_refuse(why, "ne0 = %d is odd to me", int(t->ne[0]));
    };
    KernelKit first = counted("t.first", GGML_OP_MUL, calls);
    first.priority = 1;
    KernelKit shy = counted("t.shy", GGML_OP_ADD, calls);
    shy.preferred = [](const ggml_tensor *) { return false; };
    for (const KernelKit & kit : {picky, first, counted("t.second", GGML_OP_MUL, calls), shy}) {
        add_kernel(m.device(), kit);
    }
    Sum s(m);
    const JsonValue report = explained(m, m.graph({s.sum}));
    const JsonValue & nodes = report["splits"][0]["nodes"];
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0]["name"].string, "product");
    EXPECT_EQ(nodes[0]["op"].string, "MUL");
    EXPECT_EQ(nodes[0]["result"].string, "f32 [64, 1, 1, 1]");
    EXPECT_EQ(nodes[0]["kind"].string, "kernel");
    EXPECT_EQ(nodes[0]["by"].string, "t.first");
    const JsonValue & rejected = nodes[0]["rejected"];
    ASSERT_EQ(rejected.size(), 2u);
    EXPECT_EQ(named(rejected, "who", "t.picky")["reason"].string, "callback");
    EXPECT_EQ(named(rejected, "who", "t.picky")["message"].string, "ne0 = 64 is odd to me");
    EXPECT_EQ(named(rejected, "who", "t.second")["reason"].string, "selection.outranked");
    EXPECT_EQ(nodes[1]["kind"].string, "native");
    EXPECT_FALSE(nodes[1].has("by"));
    EXPECT_EQ(named(nodes[1]["rejected"], "who", "t.shy")["reason"].string, "selection.not_preferred");
    EXPECT_EQ(calls->executes, 0);
    EXPECT_EQ(calls->prepares, calls->destroys);
}

TEST_F(ext_explain, lists_layouts_of_inputs_and_attributes_so_that_a_program_can_build_the_node_again) {
    ExtMachine m;
    ggml_context * ctx = m.ctx.get();
    ggml_tensor * wide = ggml_reshape_2d(ctx, m.weight(1), 16, 4);
    ggml_tensor * half = ggml_view_2d(ctx, wide, 8, 4, wide->nb[1], 0);
    ggml_tensor * scaled = ggml_set_name(ggml_scale(ctx, ggml_cont(ctx, half), 0.5f), "scaled");
    const auto function = [](ggml_tensor *, const ggml_tensor *, int, int, void *) {};
    ggml_tensor * mapped = ggml_set_name(ggml_map_custom1(ctx, scaled, function, 1, nullptr), "mapped");
    const JsonValue report = explained(m, m.graph({mapped}));
    std::map<std::string, JsonValue> nodes;
    for (const JsonValue & split : report["splits"].items) {
        for (const JsonValue & node : split["nodes"].items) nodes[node["op"].string] = node;
    }
    const JsonValue & input = nodes.at("CONT")["inputs"][0];
    EXPECT_EQ(input["type"].string, "f32");
    const double ne[] = {8, 4, 1, 1}, nb[] = {4, 64, 256, 256};
    for (size_t d = 0; d < 4; ++d) {
        EXPECT_EQ(input["ne"][d].value(), ne[d]);
        EXPECT_EQ(input["nb"][d].value(), nb[d]);
    }
    EXPECT_EQ(nodes.at("CONT")["attrs"].string, "");
    EXPECT_EQ(nodes.at("SCALE")["attrs"].string, "0000003f");
    EXPECT_EQ(nodes.at("MAP_CUSTOM1")["attrs"].string, "") << "addresses mean nothing to a reader";
}

TEST_F(ext_explain, lists_every_node_of_a_fused_step_and_what_the_rule_took_it_from) {
    ExtMachine m;
    KernelKit later = mul_add("t.later", calls);
    later.priority = -1;
    for (const KernelKit & kit : {mul_add("t.mul_add", calls), later, counted("t.add", GGML_OP_ADD, calls)})
        add_kernel(m.device(), kit);
    Sum s(m);
    const JsonValue report = explained(m, m.graph({s.sum}));
    const JsonValue & nodes = report["splits"][0]["nodes"];
    ASSERT_EQ(nodes.size(), 2u);
    for (const JsonValue & node : nodes.items) {
        EXPECT_EQ(node["kind"].string, "fusion");
        EXPECT_EQ(node["by"].string, "t.mul_add");
    }
    EXPECT_EQ(named(nodes[1]["rejected"], "who", "t.add")["reason"].string, "selection.outranked");
    EXPECT_EQ(named(report["rules"], "rule", "t.mul_add")["fired"].value(), 1);
    const JsonValue & other = named(report["rules"], "rule", "t.later");
    EXPECT_EQ(other["fired"].value(), 0);
    EXPECT_EQ(other["miss"]["reason"].string, "selection.outranked");
}

TEST_F(ext_explain, tells_the_longest_match_of_a_rule_and_the_check_that_failed_there) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Sum s(m);
    ggml_tensor * early = ggml_mul(m.ctx.get(), s.a, s.c); // matches one node only
    ggml_tensor * other = ggml_set_name(ggml_sqr(m.ctx.get(), s.product), "other");
    const JsonValue report = explained(m, m.graph({ggml_sqr(m.ctx.get(), early), s.sum, other}));
    const JsonValue & rule = named(report["rules"], "rule", "t.mul_add");
    EXPECT_EQ(rule["fired"].value(), 0);
    EXPECT_EQ(rule["longest"].value(), 2);
    EXPECT_EQ(rule["name"].string, "product");
    EXPECT_EQ(rule["miss"]["reason"].string, "fusion.external_use");
    EXPECT_NE(rule["miss"]["message"].string.find("also read by other"), std::string::npos);
    ASSERT_EQ(report["notices"].size(), 1u);
    EXPECT_NE(report["notices"][0].string.find("t.mul_add never fires"), std::string::npos);
}

TEST_F(ext_explain, tells_why_a_rule_was_not_even_asked) {
    for (const int how : {0, 1, 2}) {
        ExtMachine m(device_options("DEV"), /*parallel=*/how == 1);
        add_kernel(m.device(), mul_add("t.mul_add", calls));
        ggml_ext_policy policy = ggml_ext_policy_default();
        policy.fusion = how != 0;
        ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
        ggml_tensor * x = m.weight(1);
        ggml_tensor * y =
            how == 2 ? ggml_sqr(m.ctx.get(), x) : ggml_add(m.ctx.get(), ggml_mul(m.ctx.get(), x, x), x);
        const JsonValue report = explained(m, m.graph({y}));
        const JsonValue & rule = named(report["rules"], "rule", "t.mul_add");
        EXPECT_EQ(rule["miss"]["reason"].string, how == 2 ? "fusion.no_match" : "fusion.off") << how;
        EXPECT_EQ(rule["longest"].value(), 0);
        EXPECT_FALSE(rule.has("node"));
    }
    EXPECT_EQ(calls->matches, 0);
}

TEST_F(ext_explain, bytes_are_those_that_reserving_would_take_with_and_without_fusion) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    add_kernel(m.device(), counted("t.sub", GGML_OP_SUB, calls, /*workspace=*/1000));
    Sum s(m);
    ggml_cgraph * g = m.graph({ggml_sub(m.ctx.get(), s.sum, s.c)});
    const JsonValue report = explained(m, g);
    size_t with[2], without[2];
    ggml_backend_sched_reserve_size(m.sched(), g, with);
    ggml_ext_policy policy = ggml_ext_policy_default();
    policy.fusion = false;
    ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
    ggml_backend_sched_reserve_size(m.sched(), g, without);
    const JsonValue & memory = named(report["memory"], "backend", "DEV");
    EXPECT_EQ(memory["tensor_bytes"].value() + memory["workspace_bytes"].value(), double(with[0]));
    EXPECT_EQ(memory["tensor_bytes_unfused"].value() + memory["workspace_bytes"].value(), double(without[0]));
    EXPECT_GE(memory["workspace_bytes"].value(), 1000);
    EXPECT_EQ(report["fusion"]["left_out"].value(), 1);
    EXPECT_EQ(report["fusion"]["left_out_bytes"].value(), kElements * 4);
    EXPECT_EQ(report["fusion"]["peak_bytes_saved"].value(), double(without[0] - with[0]));
    EXPECT_EQ(report["splits"][0]["workspace_bytes"].value(), 1000);
    EXPECT_EQ(report["splits"][0]["workspace_step"].string.find("t.sub ("), 0u);
}

TEST_F(ext_explain, leaves_an_allocated_graph_and_its_scheduler_as_they_were) {
    // SQR runs on the CPU, so that the graph is cut and its sources are copies while it is allocated.
    ExtMachine m(device_without("DEV", GGML_OP_SQR));
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Sum s(m);
    ggml_tensor * squared = ggml_sqr(m.ctx.get(), s.sum);
    ggml_tensor * back = ggml_mul(m.ctx.get(), squared, s.a);
    ggml_cgraph * g = m.graph({back});
    const std::string fresh = explain(m, g, GGML_EXT_FORMAT_JSON);
    const std::vector<float> once = m.compute(g, back);
    const Snapshot before(g);
    const int prepared = calls->prepares - calls->destroys;
    const std::string allocated = explain(m, g, GGML_EXT_FORMAT_JSON);
    EXPECT_TRUE(before == Snapshot(g));
    EXPECT_EQ(calls->prepares - calls->destroys, prepared);
    EXPECT_EQ(ggml_backend_sched_get_n_splits(m.sched()), 3);
    EXPECT_NE(squared->src[0], s.sum) << "still the copy";
    EXPECT_EQ(m.compute(g, back), once) << "the graph is still allocated";
    // The same plan, but the allocated graph has been executed.
    const JsonValue a = JsonReader::read(fresh), b = JsonReader::read(allocated);
    EXPECT_EQ(a["splits"].size(), 3u);
    EXPECT_EQ(fresh.substr(0, fresh.find("\"replay\"")), allocated.substr(0, allocated.find("\"replay\"")));
    EXPECT_EQ(a["replay"]["executions"].value(), 0);
    EXPECT_EQ(b["replay"]["executions"].value(), 1);
    EXPECT_EQ(a["splits"][1]["backend"].string, "CPU");
    EXPECT_EQ(a["splits"][1]["copied"][0].string, "sum");
    const JsonValue & elsewhere = a["splits"][1]["nodes"][0]["elsewhere"];
    ASSERT_EQ(elsewhere.size(), 1u);
    EXPECT_EQ(elsewhere[0]["backend"].string, "DEV");
    EXPECT_EQ(elsewhere[0]["reason"].string, "selection.no_native");
}

TEST_F(ext_explain, leaves_inputs_that_exist_several_times_as_they_were) {
    ExtMachine m(device_options("DEV"), /*parallel=*/true);
    add_kernel(m.device(), counted("t.mul", GGML_OP_MUL, calls));
    ggml_tensor * x = ggml_new_tensor_1d(m.ctx.get(), GGML_TYPE_F32, kElements);
    ggml_set_input(x);
    ggml_tensor * y = ggml_mul(m.ctx.get(), x, m.weight(2));
    ggml_cgraph * g = m.graph({y});
    for (const bool allocated : {false, true}) {
        ASSERT_TRUE(!allocated || ggml_backend_sched_alloc_graph(m.sched(), g));
        const Snapshot before(g);
        const JsonValue report = explained(m, g);
        EXPECT_EQ(report["graph"]["copies"].value(), 4);
        EXPECT_TRUE(before == Snapshot(g)) << allocated;
    }
    write(x, counting(kElements));
    EXPECT_EQ(m.compute(g, y)[3], 3 * 5 + 1000);
}

TEST_F(ext_explain, counts_what_the_caller_has_assigned_and_does_not_forget_it) {
    ExtMachine m;
    Sum s(m);
    ggml_backend_sched_set_tensor_backend(m.sched(), s.product, m.machine.cpu());
    ggml_cgraph * g = m.graph({s.sum});
    for (int i = 0; i < 2; ++i) {
        const JsonValue report = explained(m, g);
        EXPECT_EQ(report["splits"][0]["backend"].string, "CPU");
        EXPECT_EQ(report["splits"][0]["nodes"][0]["name"].string, "product");
        EXPECT_EQ(report["splits"][0]["nodes"][0]["elsewhere"].size(), 0u) << "DEV would run it";
    }
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched(), s.product), m.machine.cpu());
}

TEST_F(ext_explain, of_another_graph_leaves_the_allocated_one_alone) {
    ExtMachine m;
    add_kernel(m.device(), mul_add("t.mul_add", calls));
    Sum s(m);
    ggml_cgraph * g = m.graph({s.sum});
    const std::vector<float> once = m.compute(g, s.sum);
    ggml_tensor * other = ggml_sqr(m.ctx.get(), s.a);
    const JsonValue report = explained(m, m.graph({other}));
    EXPECT_EQ(report["graph"]["nodes"].value(), 1);
    EXPECT_EQ(report["replay"]["executions"].value(), 0);
    EXPECT_EQ(other->buffer, nullptr);
    EXPECT_EQ(m.compute(g, s.sum), once);
}

TEST_F(ext_explain, says_why_the_last_execution_was_no_replay) {
    TestDeviceOptions options = device_without("DEV", GGML_OP_SQR);
    options.replay = true;
    ExtMachine m(options);
    KernelKit kit = counted("t.mul", GGML_OP_MUL, calls);
    kit.flags = GGML_EXT_KERNEL_CAPTURE_SAFE;
    add_kernel(m.device(), kit);
    Sum s(m);
    ggml_cgraph * g = m.graph({ggml_sqr(m.ctx.get(), s.sum)});
    const char * expected[] = {"replay.cold", "replay.captured_now", nullptr};
    for (const char * reason : expected) {
        ASSERT_EQ(ggml_backend_sched_graph_compute(m.sched(), g), GGML_STATUS_SUCCESS);
        const JsonValue report = explained(m, g);
        const JsonValue & splits = report["replay"]["splits"];
        ASSERT_EQ(splits.size(), 2u);
        EXPECT_EQ(splits[0]["replayed"].truth, reason == nullptr);
        EXPECT_EQ(splits[0].has("miss") ? splits[0]["miss"]["reason"].string : "none",
                  reason != nullptr ? reason : "none");
        EXPECT_EQ(splits[1]["miss"]["reason"].string, "replay.native_split");
    }
}

TEST_F(ext_explain, reports_a_kernel_that_cannot_be_prepared_instead_of_failing) {
    ExtMachine m;
    KernelKit kit = counted("t.mul", GGML_OP_MUL, calls);
    kit.prepare = [](const ggml_ext_prepare_params &, ggml_ext_prepared &) { return GGML_STATUS_FAILED; };
    add_kernel(m.device(), kit);
    Sum s(m);
    ggml_cgraph * g = m.graph({s.sum});
    LogCapture log;
    const JsonValue report = explained(m, g);
    EXPECT_EQ(report["splits"][0]["failure"]["reason"].string, "plan.prepare_failed");
    EXPECT_EQ(log.text, "");
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched(), g));
    EXPECT_NE(log.text.find("plan.prepare_failed"), std::string::npos);
}

TEST_F(ext_explain, gives_no_text_but_the_reason_where_nobody_runs_a_node) {
    ExtMachine m;
    const ggml_ext_op_t op = add_op({.name = "t.explain_nobody.v1"});
    KernelKit kit = counted("t.nobody", GGML_OP_CUSTOM, calls);
    kit.custom_op = op;
    kit.supports = [](const ggml_tensor *, ggml_ext_why_t why) { return ggml_ext_refuse(why, "never"); };
    add_kernel(m.device(), kit);
    ggml_tensor * x = m.weight(1);
    ggml_cgraph * g = m.graph({ggml_ext_op_create(m.ctx.get(), op, &x, 1, nullptr, 0)});
    LogCapture log;
    EXPECT_EQ(ggml_ext_explain(m.sched(), g, GGML_EXT_FORMAT_TEXT), nullptr);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NO_BACKEND);
    const std::string message = ggml_ext_last_message();
    EXPECT_NE(message.find("t.nobody on DEV: callback: never"), std::string::npos) << message;
    EXPECT_EQ(log.text, "");
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched(), g));
    EXPECT_NE(log.text.find("t.nobody on DEV: callback: never"), std::string::npos) << log.text;
    EXPECT_EQ(ggml_ext_explain(nullptr, g, GGML_EXT_FORMAT_TEXT), nullptr);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
    EXPECT_EQ(ggml_ext_explain(m.sched(), nullptr, GGML_EXT_FORMAT_TEXT), nullptr);
    ggml_ext_text_free(nullptr);
}

TEST_F(ext_explain, text_is_for_people_and_has_lines_of_at_most_100_characters) {
    ExtMachine m;
    KernelKit picky = counted("t.picky", GGML_OP_ADD, calls, 10);
    picky.supports = [](const ggml_tensor *, ggml_ext_why_t why) {
        return ggml_ext_refuse(why, "%s",
                               "words that go on and on and on and on and on and on and on and on and on "
                               "and then some more of them until the line is full");
    };
    for (const KernelKit & kit :
         {mul_add("t.mul_add", calls), picky, counted("t.sub", GGML_OP_SUB, calls, 10)})
        add_kernel(m.device(), kit);
    Sum s(m);
    ggml_tensor * rest = ggml_sub(m.ctx.get(), ggml_add(m.ctx.get(), s.sum, s.c), s.a);
    const std::string text = explain(m, m.graph({rest}), GGML_EXT_FORMAT_TEXT);
    for (const char * part :
         {"graph of 4 nodes", "split 0 on DEV", "fusion  t.mul_add", "kernel  t.sub",
          "t.mul_add on DEV fired 1 times", "not t.picky: callback: words that", "memory in bytes",
          "fusion leaves out 1 tensors", "workspace 10 bytes, for t.sub"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

} // namespace
} // namespace ggml::test
