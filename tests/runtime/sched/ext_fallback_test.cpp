// Work that falls to another backend is said, once.
#include "tests/runtime/sched/explained.h"

#include "runtime/ext/registry/registry.h"
#include "tests/support/log_capture.h"

namespace ggml::test {
namespace {

// An operator whose kernel for the device refuses what the one for the CPU takes.
struct Fallen {
    Fallen(ExtMachine & m, std::shared_ptr<Calls> calls, bool refuses = true)
        : cpu(ggml_backend_get_device(m.machine.cpu())) {
        KernelKit kit = counted("t.fallen_dev", GGML_OP_CUSTOM, calls);
        kit.custom_op = op;
        kit.supports = [refuses](const ggml_tensor * t, ggml_ext_why_t why) {
            return !refuses || ggml_ext_refuse(why, "%d elements", int(t->ne[0]));
        };
        add_kernel(m.device(), kit);
        kit.name = "t.fallen_cpu";
        kit.supports = [](const ggml_tensor *, ggml_ext_why_t) { return true; };
        ext::forget_device(cpu); // which all tests of the process share
        add_kernel(cpu, kit);
    }
    ~Fallen() { ext::forget_device(cpu); }

    // In a context of its own.
    ggml_cgraph * graph(ExtMachine & m) const {
        m.ctx = make_context(256);
        ggml_tensor * x = ggml_sqr(m.ctx.get(), m.weight(1));
        ggml_tensor * y = ggml_set_name(ggml_ext_op_create(m.ctx.get(), op, &x, 1, nullptr, 0), "fallen");
        return m.graph({ggml_sqr(m.ctx.get(), y)});
    }

    ggml_backend_dev_t cpu;
    ggml_ext_op_t op = add_op({.name = "t.fallen.v1"});
};

TEST(ext_fallback, a_registered_operator_that_falls_to_a_later_backend_is_said_once) {
    ExtMachine m;
    const Fallen fallen(m, std::make_shared<Calls>());
    ggml_cgraph * g = fallen.graph(m);
    LogCapture log;
    const JsonValue report = explained(m, g);
    EXPECT_EQ(log.text, "") << "a dry run reports nothing";
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
        ggml_backend_sched_reset(m.sched());
        g = fallen.graph(m);
    }
    EXPECT_EQ(occurrences(log.text, "t.fallen.v1 ('fallen') runs on CPU and not on DEV"), 1) << log.text;
    EXPECT_EQ(occurrences(log.text, "t.fallen_dev refuses: callback: 64 elements"), 1) << log.text;
    ASSERT_EQ(report["notices"].size(), 1u);
    EXPECT_NE(report["notices"][0].string.find("'fallen' (t.fallen.v1) runs on CPU and not on DEV"),
              std::string::npos);
    const JsonValue & node = report["splits"][1]["nodes"][0];
    EXPECT_EQ(node["name"].string, "fallen");
    EXPECT_EQ(named(node["elsewhere"], "who", "t.fallen_dev")["message"].string, "64 elements");
}

TEST(ext_fallback, a_disabled_kernel_makes_no_device_able_for_this_scheduler) {
    ExtMachine m;
    const auto calls = std::make_shared<Calls>();
    const Fallen fallen(m, calls, /*refuses=*/false);
    const char * names[] = {"t.fallen_dev"};
    ggml_ext_policy policy = ggml_ext_policy_default();
    policy.disabled = names;
    policy.n_disabled = 1;
    ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
    ggml_cgraph * g = fallen.graph(m);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched(), ggml_graph_node(g, 1)), m.machine.cpu());

    names[0] = "t.fallen_cpu";
    policy.n_disabled = 1;
    ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
    ggml_backend_sched_reset(m.sched());
    g = fallen.graph(m);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched(), ggml_graph_node(g, 1)), m.backend());

    const char * both[] = {"t.fallen_dev", "t.fallen_cpu"};
    policy.disabled = both;
    policy.n_disabled = 2;
    ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
    ggml_backend_sched_reset(m.sched());
    LogCapture log;
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched(), fallen.graph(m)));
    EXPECT_NE(log.text.find("selection.disabled"), std::string::npos) << log.text;
}

TEST(ext_fallback, what_the_caller_wants_elsewhere_is_no_fallback) {
    ExtMachine m;
    const Fallen fallen(m, std::make_shared<Calls>(), /*refuses=*/false);
    ggml_cgraph * g = fallen.graph(m);
    ggml_backend_sched_set_tensor_backend(m.sched(), ggml_graph_node(g, 1), m.machine.cpu());
    LogCapture log;
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    EXPECT_GT(ggml_backend_sched_get_n_splits(m.sched()), 1);
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched(), ggml_graph_node(g, 1)), m.machine.cpu());
    EXPECT_EQ(log.text, "");
}

} // namespace
} // namespace ggml::test
