// In which order kernels are considered, and for which nodes.
#include "tests/runtime/ext/registry/fixture.h"
#include "tests/support/test_device.h"

namespace ggml::test {
namespace {

using Names = std::vector<std::string>;

class ExtLists : public ExtRegistry {
  protected:
    void SetUp() override {
        ExtRegistry::SetUp();
        ctx = ggml_init({1 << 16, nullptr, true});
        x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
        sum = ggml_add(ctx, x, x);
        product = ggml_mul(ctx, x, x);
    }
    void TearDown() override {
        ggml_free(ctx);
        ExtRegistry::TearDown();
    }

    void put(ggml_ext_kernel_desc desc, int priority = 0, ggml_ext_op_t op = nullptr) {
        desc.priority = priority;
        if (op != nullptr) desc.op = GGML_OP_CUSTOM, desc.custom_op = op;
        ASSERT_EQ(add(desc), GGML_EXT_SUCCESS) << ggml_ext_last_message();
    }
    ggml_tensor * node(ggml_ext_op_t op) { return ggml_ext_op_create(ctx, op, &x, 1, nullptr, 0); }
    Names kernels(const ggml_tensor * t) { return names(ext::kernels_of(device)->for_node(t)); }
    Names rules(const ggml_tensor * t) { return names(ext::kernels_of(device)->rules_for(t)); }

    ggml_context * ctx = nullptr;
    ggml_tensor *x = nullptr, *sum = nullptr, *product = nullptr;
};

TEST_F(ExtLists, put_higher_priorities_first_and_equal_ones_in_order_of_registration) {
    put(kernel_desc("test.zero_1"));
    put(kernel_desc("test.high"), INT32_MAX);
    put(kernel_desc("test.low"), INT32_MIN);
    put(kernel_desc("test.zero_2"));
    put(kernel_desc("test.five"), 5);
    put(kernel_desc("test.zero_3"));
    const Names order = {"test.high", "test.five", "test.zero_1", "test.zero_2", "test.zero_3", "test.low"};
    EXPECT_EQ(kernels(sum), order);
    EXPECT_EQ(names(ext::kernels_of(device)->all()), order);
}

TEST_F(ExtLists, hold_only_what_is_for_the_operator) {
    put(kernel_desc("test.add"));
    put(kernel_desc("test.mul", GGML_OP_MUL));
    EXPECT_EQ(kernels(sum), Names{"test.add"});
    EXPECT_EQ(kernels(product), Names{"test.mul"});
    EXPECT_EQ(kernels(ggml_sqr(ctx, x)), Names{});
    EXPECT_EQ(kernels(x), Names{});
}

TEST_F(ExtLists, keep_kernels_rules_and_optimizers_apart) {
    put(kernel_desc("test.kernel"));
    put(rule_desc("test.rule"));
    ggml_ext_kernel_desc both = kernel_desc("test.both");
    both.match = match_nothing;
    both.optimize = optimize_nothing;
    put(both);
    EXPECT_EQ(kernels(sum), (Names{"test.kernel", "test.both"}));
    EXPECT_EQ(rules(sum), (Names{"test.rule", "test.both"}));
    EXPECT_EQ(names(ext::kernels_of(device)->rules()), (Names{"test.rule", "test.both"}));
    EXPECT_EQ(names(ext::kernels_of(device)->optimizers()), Names{"test.both"});
}

TEST_F(ExtLists, tell_registered_operators_apart) {
    const ggml_ext_op_t a = new_op("a"), b = new_op("b"), c = new_op("c");
    put(kernel_desc("test.for_a"), 0, a);
    put(kernel_desc("test.for_b"), 0, b);
    put(rule_desc("test.from_b"), 0, b);
    EXPECT_EQ(kernels(node(a)), Names{"test.for_a"});
    EXPECT_EQ(rules(node(a)), Names{});
    EXPECT_EQ(kernels(node(b)), Names{"test.for_b"});
    EXPECT_EQ(rules(node(b)), Names{"test.from_b"});
    EXPECT_EQ(kernels(node(c)), Names{});
    EXPECT_EQ(rules(node(c)), Names{});
}

TEST_F(ExtLists, give_functions_of_the_caller_no_kernels) {
    put(kernel_desc("test.for_a"), 0, new_op("a"));
    ggml_tensor * custom = ggml_custom_4d(
        ctx, GGML_TYPE_F32, 8, 1, 1, 1, &x, 1, [](ggml_tensor *, int, int, void *) {}, 1, nullptr);
    EXPECT_EQ(kernels(custom), Names{});
    EXPECT_EQ(rules(custom), Names{});
}

TEST_F(ExtLists, merge_rules_that_start_anywhere_into_all_others) {
    const ggml_ext_op_t before = new_op("before"), after = new_op("after"), without = new_op("without");
    put(rule_desc("test.add_low"), -1);
    put(rule_desc("test.from_before"), 3, before);
    put(rule_desc("test.anywhere", GGML_OP_NONE), 2);
    put(rule_desc("test.from_after"), 1, after);
    put(rule_desc("test.anywhere_too", GGML_OP_NONE), 2);
    EXPECT_EQ(rules(sum), (Names{"test.anywhere", "test.anywhere_too", "test.add_low"}));
    EXPECT_EQ(rules(product), (Names{"test.anywhere", "test.anywhere_too"}));
    EXPECT_EQ(rules(x), (Names{"test.anywhere", "test.anywhere_too"}));
    EXPECT_EQ(rules(node(before)), (Names{"test.from_before", "test.anywhere", "test.anywhere_too"}));
    EXPECT_EQ(rules(node(after)), (Names{"test.anywhere", "test.anywhere_too", "test.from_after"}));
    EXPECT_EQ(rules(node(without)), (Names{"test.anywhere", "test.anywhere_too"}));
    EXPECT_EQ(
        names(ext::kernels_of(device)->rules()),
        (Names{"test.from_before", "test.anywhere", "test.anywhere_too", "test.from_after", "test.add_low"}));
}

TEST_F(ExtLists, that_were_handed_out_never_change) {
    put(kernel_desc("test.first"));
    const ext::DeviceKernels * seen = ext::kernels_of(device);
    const auto list = seen->for_node(sum);
    for (int i = 0; i < 50; ++i) put(kernel_desc(("test.later_" + std::to_string(i)).c_str()), i);
    EXPECT_NE(ext::kernels_of(device), seen);
    EXPECT_GT(ext::kernels_of(device)->generation(), seen->generation());
    EXPECT_EQ(names(list), Names{"test.first"});
    ext::forget_device(device);
    EXPECT_EQ(ext::kernels_of(device), nullptr);
    EXPECT_EQ(names(seen->all()), Names{"test.first"});
}

TEST_F(ExtLists, belong_to_one_device) {
    TestDevice other;
    put(kernel_desc("test.here"));
    EXPECT_EQ(ext::kernels_of(other.device()), nullptr);
    const ggml_ext_kernel_desc same_name = kernel_desc("test.here", GGML_OP_MUL);
    EXPECT_EQ(ggml_ext_register_kernel(other.device(), &same_name), GGML_EXT_SUCCESS);
    EXPECT_EQ(names(ext::kernels_of(other.device())->for_node(product)), Names{"test.here"});
    EXPECT_EQ(kernels(product), Names{});
}

} // namespace
} // namespace ggml::test
