#include "runtime/ext/selection/selection.h"

#include "tests/runtime/backend/fixture.h"
#include "tests/support/ext_kit.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

using namespace ggml;
using namespace ggml::test;

namespace {

bool always(const ggml_tensor *, ggml_ext_why_t) { return true; }
ggml_status nothing(const ggml_ext_execute_params &, void *) { return GGML_STATUS_SUCCESS; }

KernelKit kernel(const char * name, ggml_op op, int priority = 0) {
    KernelKit kit;
    kit.name = name;
    kit.op = op;
    kit.priority = priority;
    kit.supports = always;
    kit.execute = nothing;
    return kit;
}

// A device and one node of it. The device itself runs everything but what `lacks` says.
struct Selection : testing::Test {
    explicit Selection(ggml_op lacks = GGML_OP_COUNT) : device(options(lacks)), ctx(make_context()) {
        a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8);
        node = ggml_add(ctx.get(), a, ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 8));
        node->flags |= GGML_TENSOR_FLAG_COMPUTE;
    }
    static TestDeviceOptions options(ggml_op lacks) {
        TestDeviceOptions o;
        o.supports = [lacks](const ggml_tensor * t) { return t->op != lacks; };
        return o;
    }
    std::string chosen(const ext::Policy & policy = {}) {
        losers.clear();
        const ext::Kernel * k =
            ext::choose(device.device(), *ext::kernels_of(device.device()), node, policy, &losers);
        return k != nullptr ? k->name : "native";
    }
    TestDevice device;
    ggml_context_ptr ctx;
    ggml_tensor *a, *node;
    std::vector<ext::Candidate> losers;
};

struct SelectionWithoutAdd : Selection {
    SelectionWithoutAdd() : Selection(GGML_OP_ADD) {}
};

TEST_F(Selection, considers_higher_priorities_first_and_equal_ones_in_order_of_registration) {
    add_kernel(device.device(), kernel("t.low", GGML_OP_ADD, -1));
    add_kernel(device.device(), kernel("t.first", GGML_OP_ADD, 7));
    add_kernel(device.device(), kernel("t.second", GGML_OP_ADD, 7));
    add_kernel(device.device(), kernel("t.other", GGML_OP_MUL, 9));
    EXPECT_EQ(chosen(), "t.first");
    ASSERT_EQ(losers.size(), 2u);
    EXPECT_EQ(losers[0].kernel->name, "t.second");
    EXPECT_EQ(losers[1].kernel->name, "t.low");
    EXPECT_EQ(losers[1].verdict.reason, GGML_EXT_REASON_OUTRANKED);
}

TEST_F(Selection, passes_over_kernels_that_do_not_support_the_node_and_keeps_their_words) {
    KernelKit picky = kernel("t.picky", GGML_OP_ADD, 5);
    picky.supports = [](const ggml_tensor * t, ggml_ext_why_t why) {
        return t->ne[0] % 32 == 0 || ggml_ext_refuse(why, "K = %d", int(t->ne[0]));
    };
    add_kernel(device.device(), picky);
    add_kernel(device.device(), kernel("t.any", GGML_OP_ADD));
    EXPECT_EQ(chosen(), "t.any");
    ASSERT_EQ(losers.size(), 1u);
    EXPECT_EQ(losers[0].verdict.reason, GGML_EXT_REASON_CALLBACK);
    EXPECT_EQ(losers[0].verdict.words, "K = 8");
}

TEST_F(Selection, leaves_a_node_to_the_device_when_the_kernel_prefers_that) {
    KernelKit shy = kernel("t.shy", GGML_OP_ADD);
    shy.preferred = [](const ggml_tensor *) { return false; };
    add_kernel(device.device(), shy);
    EXPECT_EQ(chosen(), "native");
    EXPECT_EQ(losers.at(0).verdict.reason, GGML_EXT_REASON_NOT_PREFERRED);
}

TEST_F(SelectionWithoutAdd, runs_a_supported_kernel_whatever_it_prefers_where_the_device_cannot) {
    KernelKit shy = kernel("t.shy", GGML_OP_ADD);
    shy.preferred = [](const ggml_tensor *) { return ADD_FAILURE() << "not to be asked", false; };
    add_kernel(device.device(), shy);
    EXPECT_EQ(chosen(), "t.shy");
    ext::Policy off;
    off.kernels = false;
    EXPECT_EQ(chosen(off), "t.shy") << "nobody else computes the node";
}

TEST_F(Selection, follows_the_policy) {
    add_kernel(device.device(), kernel("t.one", GGML_OP_ADD, 1));
    add_kernel(device.device(), kernel("t.two", GGML_OP_ADD));
    ext::Policy policy;
    policy.disabled = {"t.one"};
    EXPECT_EQ(chosen(policy), "t.two");
    EXPECT_EQ(losers.at(0).verdict.reason, GGML_EXT_REASON_DISABLED);
    policy.kernels = false;
    EXPECT_EQ(chosen(policy), "native");
}

TEST_F(Selection, does_not_intercept_views_in_place_nodes_and_nodes_nobody_wants) {
    add_kernel(device.device(), kernel("t.any", GGML_OP_ADD));
    EXPECT_EQ(chosen(), "t.any");
    node->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
    EXPECT_EQ(chosen(), "native");
    EXPECT_EQ(losers.at(0).verdict.reason, GGML_EXT_REASON_NOT_COMPUTED);
    node = ggml_add_inplace(ctx.get(), a, a);
    node->flags |= GGML_TENSOR_FLAG_COMPUTE;
    EXPECT_EQ(chosen(), "native");
    EXPECT_EQ(losers.at(0).verdict.reason, GGML_EXT_REASON_IN_PLACE_NODE);
}

TEST_F(SelectionWithoutAdd, capability_queries_count_kernels_of_single_nodes) {
    EXPECT_FALSE(ggml_ext_dev_supports_native_op(device.device(), node));
    add_kernel(device.device(), kernel("t.any", GGML_OP_ADD));
    EXPECT_TRUE(ggml_backend_dev_supports_op(device.device(), node));
    EXPECT_FALSE(ggml_ext_dev_supports_native_op(device.device(), node));
}

TEST_F(SelectionWithoutAdd, a_fusion_only_registration_claims_no_node) {
    KernelKit fusion;
    fusion.name = "t.fuse";
    fusion.op = GGML_OP_ADD;
    fusion.match = [](const ggml_cgraph *, int, ggml_ext_why_t) { return 2; };
    fusion.execute = nothing;
    add_kernel(device.device(), fusion);
    EXPECT_FALSE(ggml_backend_dev_supports_op(device.device(), node));
    EXPECT_EQ(chosen(), "native");
}

TEST_F(SelectionWithoutAdd, a_kernel_that_asks_its_own_device_is_not_used_and_named) {
    KernelKit recursive = kernel("t.recursive", GGML_OP_ADD);
    recursive.supports = [this](const ggml_tensor * t, ggml_ext_why_t) {
        return ggml_backend_dev_supports_op(device.device(), t);
    };
    add_kernel(device.device(), recursive);
    LogCapture log;
    EXPECT_FALSE(ggml_backend_dev_supports_op(device.device(), node));
    EXPECT_NE(log.text.find("t.recursive"), std::string::npos) << log.text;
    EXPECT_EQ(chosen(), "native");
    EXPECT_EQ(losers.at(0).verdict.reason, GGML_EXT_REASON_RECURSION);
}

TEST_F(Selection, a_kernel_may_ask_what_the_device_runs_itself) {
    KernelKit careful = kernel("t.careful", GGML_OP_ADD);
    careful.supports = [this](const ggml_tensor * t, ggml_ext_why_t) {
        return ggml_ext_dev_supports_native_op(device.device(), t);
    };
    add_kernel(device.device(), careful);
    EXPECT_EQ(chosen(), "t.careful");
}

TEST(selection_custom, registered_operators_have_kernels_of_their_own) {
    TestDevice device;
    ggml_ext_op_t one = add_op({"test.select_one.v1"}), two = add_op({"test.select_two.v1"});
    KernelKit kit = kernel("t.one", GGML_OP_CUSTOM);
    kit.custom_op = one;
    add_kernel(device.device(), kit);
    ggml_context_ptr ctx = make_context();
    ggml_tensor * x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
    EXPECT_TRUE(
        ggml_backend_dev_supports_op(device.device(), ggml_ext_op_create(ctx.get(), one, &x, 1, nullptr, 0)));
    EXPECT_FALSE(
        ggml_backend_dev_supports_op(device.device(), ggml_ext_op_create(ctx.get(), two, &x, 1, nullptr, 0)));
}

} // namespace
