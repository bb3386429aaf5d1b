// What cannot be a node, and that the CPU offers none.
#include "ops/common/test_attention.h"
#include "ops/sol_attn/schema.h"
#include "sd-ggml-ops.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <limits>

namespace sd::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class SolAttnRefusal : public testing::Test {
  protected:
    Inputs in;
    ggml::test::LogCapture log;
    ggml_context_ptr ctx{ggml_init({1u << 20, nullptr, true})};
    ggml_tensor *q = in.floats({128, 70, 3, 2}), *k = in.floats({128, 70, 3, 2}),
                *v = in.floats({128, 70, 3, 2});

    void refuses(ggml_tensor * a, ggml_tensor * b, ggml_tensor * c, float scale, float tau,
                 const std::string & words) {
        log.text.clear();
        ASSERT_EQ(ggml_sol_attn(ctx.get(), a, b, c, scale, tau), nullptr) << words;
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_INFER_FAILED);
        EXPECT_NE(std::string(ggml_ext_last_message()).find(words), std::string::npos)
            << ggml_ext_last_message();
        EXPECT_FALSE(log.text.empty()) << "each refusal is one error line";
    }
    // As q, k and v in turn.
    void refuses_each(ggml_tensor * t, const std::string & words) {
        refuses(t, k, v, 0.1f, 1.0f, "q is " + words);
        refuses(q, t, v, 0.1f, 1.0f, "k is " + words);
        refuses(q, k, t, 0.1f, 1.0f, "v is " + words);
    }
};

TEST_F(SolAttnRefusal, accepts_what_the_others_are_variations_of) {
    for (const float tau : {1.0f, 0.0f, -5.0f, std::numeric_limits<float>::max()}) {
        const ggml_tensor * y = ggml_sol_attn(ctx.get(), q, k, v, 0.1f, tau);
        ASSERT_NE(y, nullptr);
        EXPECT_EQ(ggml_ext_node_op(y), sol_attn_op());
        EXPECT_EQ(y->type, GGML_TYPE_F32);
        EXPECT_EQ((Sizes{y->ne[0], y->ne[1], y->ne[2], y->ne[3]}), (Sizes{128, 3, 70, 2}));
    }
}

TEST_F(SolAttnRefusal, of_missing_inputs_types_and_head_sizes) {
    refuses_each(nullptr, "none; q, k and v are needed");
    refuses_each(in.tensor(GGML_TYPE_F16, {128, 70, 3, 2}), "f16 [128, 70, 3, 2], not f32");
    refuses_each(in.floats({64, 70, 3, 2}), "f32 [64, 70, 3, 2]: only heads of 128 elements are possible");
    refuses_each(in.floats({256, 70, 3, 2}), "f32 [256, 70, 3, 2]: only heads of 128 elements");
    refuses_each(in.floats({128, 0, 3, 2}), "f32 [128, 0, 3, 2], which is empty");
}

TEST_F(SolAttnRefusal, of_tensors_that_are_not_contiguous) {
    for (const Rows rows : {Rows::padded, Rows::permuted, Rows::sparse})
        refuses_each(in.floats({128, 70, 3, 2}, rows), "f32 [128, 70, 3, 2], which is not contiguous");
}

TEST_F(SolAttnRefusal, of_keys_and_values_of_another_shape_than_the_queries) {
    for (const Sizes & ne : {Sizes{128, 71, 3, 2}, Sizes{128, 70, 1, 2}, Sizes{128, 70, 3, 1}}) {
        refuses(q, in.floats(ne), v, 0.1f, 1.0f, "shapes differ");
        refuses(q, k, in.floats(ne), 0.1f, 1.0f, "v is f32");
    }
}

TEST_F(SolAttnRefusal, of_scales_and_taus) {
    for (const float scale : {0.0f, -0.1f, kInfinity, kNan})
        refuses(q, k, v, scale, 1.0f, "is not positive and finite");
    for (const float tau : {kInfinity, -kInfinity, kNan}) refuses(q, k, v, 0.1f, tau, "is not finite");
}

TEST_F(SolAttnRefusal, of_graphs_on_the_cpu_names_the_operator) {
    const Build build = [&](ggml_context * c) { return ggml_sol_attn(c, q, k, v, 0.1f, 1.0f); };
    EXPECT_FALSE(ggml_backend_dev_supports_op(cpu_device(), build(ctx.get())));
    log.text.clear();
    EXPECT_EQ(run(build).status, GGML_STATUS_FAILED);
    EXPECT_NE(log.text.find("no backend runs"), std::string::npos) << log.text;
    EXPECT_NE(log.text.find("sd.sol_attn.v1"), std::string::npos) << log.text;
}

TEST_F(SolAttnRefusal, of_a_second_registration_does_not_happen) {
    const ggml_ext_op_t op = sol_attn_op();
    EXPECT_EQ(sd_ggml_register_extensions(cpu_device()), GGML_EXT_SUCCESS);
    EXPECT_EQ(sol_attn_op(), op);
    EXPECT_EQ(ggml_ext_find_op("sd.sol_attn.v1"), op);
    EXPECT_FALSE(ggml_backend_dev_supports_op(cpu_device(), ggml_sol_attn(ctx.get(), q, k, v, 0.1f, 1.0f)));
}

} // namespace
} // namespace sd::test
