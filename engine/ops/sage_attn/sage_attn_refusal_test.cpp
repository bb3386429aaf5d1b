// What cannot be a node, and that the CPU offers none.
#include "ops/common/test_attention.h"
#include "ops/sage_attn/schema.h"
#include "sd-ggml-ops.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <limits>

namespace sd::test {
namespace {

constexpr int kModes[] = {GGML_SAGE_ATTN_AUTO, GGML_SAGE_ATTN_2, GGML_SAGE_ATTN_2_PLUS_PLUS};

class SageAttnRefusal : public testing::Test {
  protected:
    Inputs in;
    ggml::test::LogCapture log;
    ggml_context_ptr ctx{ggml_init({1u << 20, nullptr, true})};
    ggml_tensor *q = in.floats({64, 5, 4, 2}), *k = in.floats({64, 7, 2, 2}),
                *v = in.tensor(GGML_TYPE_F16, {64, 7, 2, 2});

    void refuses(ggml_tensor * a, ggml_tensor * b, ggml_tensor * c, float scale, int mode,
                 const std::string & words) {
        log.text.clear();
        ASSERT_EQ(ggml_sage_attn(ctx.get(), a, b, c, scale, mode), nullptr) << words;
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_INFER_FAILED);
        EXPECT_NE(std::string(ggml_ext_last_message()).find(words), std::string::npos)
            << ggml_ext_last_message();
        EXPECT_FALSE(log.text.empty()) << "each refusal is one error line";
    }
    void refuses(ggml_tensor * a, ggml_tensor * b, ggml_tensor * c, const std::string & words) {
        refuses(a, b, c, 0.125f, GGML_SAGE_ATTN_2, words);
    }
};

TEST_F(SageAttnRefusal, accepts_what_the_others_are_variations_of) {
    for (const int mode : kModes) {
        const ggml_tensor * y = ggml_sage_attn(ctx.get(), q, k, v, 0.125f, mode);
        ASSERT_NE(y, nullptr);
        EXPECT_EQ(ggml_ext_node_op(y), sage_attn_op());
        EXPECT_EQ(y->type, GGML_TYPE_F32);
        EXPECT_EQ((Sizes{y->ne[0], y->ne[1], y->ne[2], y->ne[3]}), (Sizes{64, 4, 5, 2}));
    }
    EXPECT_NE(ggml_sage_attn(ctx.get(), q, v, k, 0.125f, GGML_SAGE_ATTN_2), nullptr)
        << "f16 keys, f32 values";
    EXPECT_NE(ggml_sage_attn(ctx.get(), in.floats({128, 1, 1, 1}), in.floats({128, 1, 1, 1}),
                             in.floats({128, 1, 1, 1}), 1.0f, GGML_SAGE_ATTN_AUTO),
              nullptr);
    EXPECT_NE(ggml_sage_attn(ctx.get(), in.floats({64, 5, 4, 2}, Rows::permuted),
                             in.floats({64, 7, 2, 2}, Rows::padded), v, 1.0f, GGML_SAGE_ATTN_AUTO),
              nullptr);
}

TEST_F(SageAttnRefusal, of_missing_inputs_and_types) {
    refuses(nullptr, k, v, "q is none; q, k and v are needed");
    refuses(q, nullptr, v, "k is none");
    refuses(q, k, nullptr, "v is none");
    refuses(in.tensor(GGML_TYPE_F16, {64, 5, 4, 2}), k, v, "q is f16 [64, 5, 4, 2], not f32");
    refuses(q, in.tensor(GGML_TYPE_BF16, {64, 7, 2, 2}), v, "k is bf16 [64, 7, 2, 2], not f32 or f16");
    refuses(q, k, in.bytes({64, 7, 2, 2}), "v is i8 [64, 7, 2, 2], not f32 or f16");
}

TEST_F(SageAttnRefusal, of_head_sizes_other_than_64_and_128) {
    for (const int64_t size : {1, 32, 63, 80, 96, 256}) {
        ggml_tensor *a = in.floats({size, 5, 4, 2}), *b = in.floats({size, 7, 2, 2});
        refuses(a, b, b, "heads of 64 or 128 elements are possible");
    }
}

TEST_F(SageAttnRefusal, of_shapes_that_do_not_belong_together) {
    ggml_tensor * wide = in.floats({128, 7, 2, 2});
    refuses(q, wide, wide, "heads differ in size");
    refuses(q, k, in.floats({64, 8, 2, 2}), "shapes differ");
    refuses(q, k, in.floats({64, 7, 1, 2}), "shapes differ");
    ggml_tensor * one_batch = in.floats({64, 7, 2, 1});
    refuses(q, one_batch, one_batch, "batches differ");
    ggml_tensor *three = in.floats({64, 7, 3, 2}), *eight = in.floats({64, 7, 8, 2});
    refuses(q, three, three, "heads of k do not divide those of q");
    refuses(q, eight, eight, "heads of k do not divide those of q");
}

TEST_F(SageAttnRefusal, of_empty_inputs) {
    ggml_tensor * empty = in.floats({64, 0, 2, 2});
    refuses(in.floats({64, 0, 4, 2}), k, v, "q is f32 [64, 0, 4, 2], which is empty");
    refuses(q, empty, empty, "which is empty");
}

TEST_F(SageAttnRefusal, of_rows_with_gaps_between_their_elements) {
    refuses(in.floats({64, 5, 4, 2}, Rows::sparse), k, v,
            "q is f32 [64, 5, 4, 2], whose rows are not adjacent");
    refuses(q, in.floats({64, 7, 2, 2}, Rows::sparse), v,
            "k is f32 [64, 7, 2, 2], whose rows are not adjacent");
    refuses(q, k, in.tensor(GGML_TYPE_F16, {64, 7, 2, 2}, Rows::sparse),
            "v is f16 [64, 7, 2, 2], whose rows");
    ggml_tensor * between = in.floats({64, 7, 2, 2}, Rows::padded);
    between->view_offs += 2;
    refuses(q, between, v, "k is f32 [64, 7, 2, 2], whose rows");
}

TEST_F(SageAttnRefusal, of_scales_and_modes) {
    for (const float scale :
         {0.0f, -0.125f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        refuses(q, k, v, scale, GGML_SAGE_ATTN_2, "is not positive and finite");
    }
    for (const int mode : {-1, 3, 1 << 20}) {
        refuses(q, k, v, 0.125f, mode,
                "mode " + std::to_string(mode) + " is none of enum ggml_sage_attn_mode");
    }
}

TEST_F(SageAttnRefusal, of_graphs_on_the_cpu_names_the_operator) {
    for (const int mode : kModes) {
        const Build build = [&](ggml_context * c) { return ggml_sage_attn(c, q, k, v, 0.125f, mode); };
        EXPECT_FALSE(ggml_backend_dev_supports_op(cpu_device(), build(ctx.get())));
        log.text.clear();
        EXPECT_EQ(run(build).status, GGML_STATUS_FAILED);
        EXPECT_NE(log.text.find("no backend runs"), std::string::npos) << log.text;
        EXPECT_NE(log.text.find("sd.sage_attn.v1"), std::string::npos) << log.text;
    }
}

TEST_F(SageAttnRefusal, of_a_second_registration_does_not_happen) {
    const ggml_ext_op_t op = sage_attn_op();
    EXPECT_EQ(sd_ggml_register_extensions(cpu_device()), GGML_EXT_SUCCESS);
    EXPECT_EQ(sage_attn_op(), op);
    EXPECT_EQ(ggml_ext_find_op("sd.sage_attn.v1"), op);
    EXPECT_FALSE(ggml_backend_dev_supports_op(
        cpu_device(), ggml_sage_attn(ctx.get(), q, k, v, 0.125f, GGML_SAGE_ATTN_AUTO)));
}

} // namespace
} // namespace sd::test
