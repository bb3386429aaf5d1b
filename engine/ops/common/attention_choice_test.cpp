#include "ops/common/attention_choice.h"

#include "ggml-cpp.h"
#include "ggml-sched.h"
#include "ops/common/test_attention.h"
#include "ops/sage_attn/schema.h"
#include "ops/sol_attn/schema.h"
#include "tests/support/ext_kit.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_device.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace sd::test {
namespace {

using ggml::test::KernelKit;
using ggml::test::TestDevice;

const AttentionRequest kSage = {AttentionKind::sage, GGML_SAGE_ATTN_2, 0.0f};
const AttentionRequest kSol = {AttentionKind::sol, GGML_SAGE_ATTN_AUTO, 0.5f};

// The kernel of a device for one of the operators: the reference on the device's stream. Takes what `takes`
// says.
KernelKit kernel(const char * name, ggml_ext_op_t op, ggml_ext_reference_t compute,
                 std::function<bool(const ggml_tensor *)> takes, int * executed) {
    KernelKit kit;
    kit.name = name;
    kit.op = GGML_OP_CUSTOM;
    kit.custom_op = op;
    kit.supports = [takes](const ggml_tensor * node, ggml_ext_why_t why) {
        return takes(node) || ggml_ext_refuse(why, "not this one");
    };
    kit.execute = [=](const ggml_ext_execute_params & params, void *) {
        ++*executed;
        ggml_tensor * node = params.step.nodes[0];
        ggml::test::enqueue(params.backend, [=] { compute(node, nullptr); });
        return GGML_STATUS_SUCCESS;
    };
    return kit;
}

// A device with kernels for both operators, sage attention only with head size 128 and not in mode 2++. Once
// in the process, because registrations are.
struct Gpu {
    static constexpr const char * kName = "GPU0";
    TestDevice device;
    int executed = 0;

    static Gpu & get() {
        static Gpu gpu;
        return gpu;
    }

  private:
    Gpu() : device(options()) {
        EXPECT_EQ(sd_ggml_register_extensions(device.device()), GGML_EXT_SUCCESS);
        ggml::test::add_kernel(device.device(), kernel(
                                                    "test.sage", sage_attn_op(), sage_attn_reference,
                                                    [](const ggml_tensor * node) {
                                                        const auto * attrs = ggml_ext_node_attrs(node);
                                                        SageAttnAttrs a;
                                                        std::memcpy(&a, attrs, sizeof(a));
                                                        return node->ne[0] == 128 &&
                                                               a.mode != GGML_SAGE_ATTN_2_PLUS_PLUS;
                                                    },
                                                    &executed));
        ggml::test::add_kernel(device.device(), kernel(
                                                    "test.sol", sol_attn_op(), sol_attn_reference,
                                                    [](const ggml_tensor *) { return true; }, &executed));
    }
    static ggml::test::TestDeviceOptions options() {
        ggml::test::TestDeviceOptions o;
        o.name = kName;
        o.host_visible = true;
        return o;
    }
};

class AttentionChoiceTest : public testing::Test {
  protected:
    Inputs in;
    ggml::test::LogCapture log;
    ggml_backend_dev_t cpu = cpu_device(), gpu = Gpu::get().device.device();

    Attention attention(int64_t size, int64_t heads = 2) {
        const Sizes ne = {size, 70, heads, 1};
        return {normal(in, ne), normal(in, ne), normal(in, ne), nullptr, 0.1f};
    }
    void keeps_flash(ggml_backend_dev_t device, const AttentionRequest & request, const Attention & a,
                     const std::string & start, const std::string & reason) {
        const AttentionChoice choice = choose_attention(device, request, a);
        EXPECT_EQ(choice.use.kind, AttentionKind::flash);
        EXPECT_EQ(choice.note, start + ": flash attention is used (" + reason + ")");
        EXPECT_EQ(log.text, "") << "asking is no error";
    }
};

TEST_F(AttentionChoiceTest, the_cpu_keeps_flash_attention_and_says_so) {
    for (const int mode : {GGML_SAGE_ATTN_AUTO, GGML_SAGE_ATTN_2, GGML_SAGE_ATTN_2_PLUS_PLUS}) {
        keeps_flash(cpu, {AttentionKind::sage, mode}, attention(128),
                    "sage attention is not supported by CPU", "the device has no kernel for this node");
    }
    keeps_flash(cpu, kSol, attention(128), "sol attention is not supported by CPU",
                "the device has no kernel for this node");
}

TEST_F(AttentionChoiceTest, flash_attention_needs_no_note) {
    for (ggml_backend_dev_t device : {cpu, gpu}) {
        const AttentionChoice choice = choose_attention(device, {}, attention(80));
        EXPECT_EQ(choice.use.kind, AttentionKind::flash);
        EXPECT_EQ(choice.note, "");
    }
}

TEST_F(AttentionChoiceTest, a_device_that_runs_the_node_gets_it) {
    const AttentionChoice sage = choose_attention(gpu, kSage, attention(128));
    EXPECT_EQ(sage.use.kind, AttentionKind::sage);
    EXPECT_EQ(sage.use.sage_mode, GGML_SAGE_ATTN_2);
    EXPECT_EQ(sage.note, "");
    const AttentionChoice sol = choose_attention(gpu, kSol, attention(128));
    EXPECT_EQ(sol.use.kind, AttentionKind::sol);
    EXPECT_EQ(sol.use.sol_tau, 0.5f);
    EXPECT_EQ(sol.note, "");
}

TEST_F(AttentionChoiceTest, a_device_is_asked_about_the_very_node) {
    keeps_flash(gpu, kSage, attention(64), "sage attention is not supported by GPU0",
                "the device has no kernel for this node");
    keeps_flash(gpu, {AttentionKind::sage, GGML_SAGE_ATTN_2_PLUS_PLUS}, attention(128),
                "sage attention is not supported by GPU0", "the device has no kernel for this node");
}

TEST_F(AttentionChoiceTest, what_cannot_be_a_node_keeps_flash_attention) {
    const std::string sage = "sage attention is not supported by GPU0";
    keeps_flash(gpu, kSage, attention(80), sage,
                "q is f32 [80, 70, 2, 1]: heads of 64 or 128 elements are possible");
    keeps_flash(gpu, {AttentionKind::sage, 7}, attention(128), sage,
                "mode 7 is none of enum ggml_sage_attn_mode");
    keeps_flash(gpu, {AttentionKind::sol, 0, std::numeric_limits<float>::infinity()}, attention(128),
                "sol attention is not supported by GPU0", "tau inf is not finite");
    Attention masked = attention(128);
    masked.mask = in.tensor(GGML_TYPE_F16, {70, 70, 1, 1});
    keeps_flash(gpu, kSage, masked, sage, "it takes no mask");
    keeps_flash(gpu, kSol, masked, "sol attention is not supported by GPU0", "it takes no mask");
}

TEST_F(AttentionChoiceTest, builds_what_is_asked_for_and_nothing_else) {
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    Attention a = attention(128);
    EXPECT_EQ(build_attention(ctx.get(), {}, a)->op, GGML_OP_FLASH_ATTN_EXT);
    EXPECT_EQ(ggml_flash_attn_ext_get_prec(build_attention(ctx.get(), {}, a)), GGML_PREC_F32);
    EXPECT_EQ(ggml_ext_node_op(build_attention(ctx.get(), kSage, a)), sage_attn_op());
    EXPECT_EQ(ggml_ext_node_op(build_attention(ctx.get(), kSol, a)), sol_attn_op());
    a.mask = in.tensor(GGML_TYPE_F16, {70, 70, 1, 1});
    EXPECT_EQ(build_attention(ctx.get(), {}, a)->op, GGML_OP_FLASH_ATTN_EXT);
    for (const AttentionRequest & request : {kSage, kSol}) {
        EXPECT_EQ(build_attention(ctx.get(), request, a), nullptr);
        EXPECT_NE(std::string(ggml_ext_last_message()).find("4 inputs, not q, k and v"), std::string::npos);
    }
}

// The layer as a model runs it on the device beside the CPU; `executed` counts the device's kernels.
std::vector<float> run_on_gpu(const AttentionRequest & request, const Attention & a) {
    ggml_backend_ptr gpu(Gpu::get().device.new_backend());
    ggml_backend_ptr cpu(ggml_backend_dev_init(cpu_device(), nullptr));
    ggml_backend_t backends[] = {gpu.get(), cpu.get()};
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends, nullptr, 2, 64, false, true));
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    ggml_tensor * y =
        build_attention(ctx.get(), choose_attention(Gpu::get().device.device(), request, a).use, a);
    ggml_cgraph * graph = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(graph, y);
    if (!ggml_backend_sched_alloc_graph(sched.get(), graph)) return {};
    EXPECT_EQ(ggml_backend_sched_graph_compute(sched.get(), graph), GGML_STATUS_SUCCESS);
    std::vector<float> values(static_cast<size_t>(ggml_nelements(y)));
    ggml_backend_tensor_get(y, values.data(), 0, ggml_nbytes(y));
    return values;
}

TEST_F(AttentionChoiceTest, every_choice_runs_and_is_close_to_exact_attention) {
    const Attention a = attention(128);
    const std::vector<double> exact = exact_attention(a.q, a.k, a.v, double(a.scale));
    int & executed = Gpu::get().executed;
    executed = 0;
    EXPECT_LT(relative_error(run_on_gpu({}, a), exact), 1e-3);
    EXPECT_EQ(executed, 0);
    EXPECT_LT(relative_error(run_on_gpu(kSage, a), exact), 0.06);
    EXPECT_EQ(executed, 1);
    EXPECT_LT(relative_error(run_on_gpu(kSol, a), exact), 1e-5) << "two blocks are neighbours";
    EXPECT_EQ(executed, 2);
    const AttentionRequest refused = {AttentionKind::sage, GGML_SAGE_ATTN_2_PLUS_PLUS};
    EXPECT_LT(relative_error(run_on_gpu(refused, a), exact), 1e-3) << "flash attention";
    EXPECT_EQ(executed, 2);
}

} // namespace
} // namespace sd::test
