#include "ops/common/test_graph.h"
#include "ops/linear_i8/schema.h"
#include "sd-ggml-ops.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sd::test {
namespace {

// What does not fit: the layer below with one operand changed.
struct Case {
    ggml_tensor *weight, *input, *scale, *bias;
    int group;
    ggml_tensor * input_scale;
};

class LinearI8Refusal : public testing::Test {
  protected:
    Inputs in;
    ggml::test::LogCapture log;
    ggml_context_ptr ctx{ggml_init({1u << 20, nullptr, true})};
    ggml_tensor *w = in.bytes({64, 12, 1, 1}), *x = in.floats({64, 5, 1, 1}),
                *codes = in.bytes({64, 5, 1, 1}), *s = in.floats({12, 1, 1, 1}),
                *b = in.floats({12, 1, 1, 1}), *xs = in.floats({5, 1, 1, 1});

    void refuses(const Case & c, const char * words) {
        log.text.clear();
        ggml_tensor * y =
            ggml_mul_mat_i8_tensorwise(ctx.get(), c.weight, c.input, c.scale, c.bias, c.group, c.input_scale);
        ASSERT_EQ(y, nullptr) << words;
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_INFER_FAILED);
        EXPECT_NE(std::string(ggml_ext_last_message()).find(words), std::string::npos)
            << ggml_ext_last_message();
        EXPECT_FALSE(log.text.empty()) << "each refusal is one error line";
    }
    void layer_refuses(ggml_tensor * input, ggml_tensor * bias, float scale, const char * words) {
        ggml_tensor * y = ggml_ext_linear_i8_tensorwise(ctx.get(), input, w, s, bias, 64, scale);
        ASSERT_EQ(y, nullptr) << words;
        EXPECT_NE(std::string(ggml_ext_last_message()).find(words), std::string::npos)
            << ggml_ext_last_message();
    }
};

TEST_F(LinearI8Refusal, accepts_what_the_others_are_variations_of) {
    EXPECT_NE(ggml_mul_mat_i8_tensorwise(ctx.get(), w, x, s, b, 64, nullptr), nullptr);
    EXPECT_NE(ggml_mul_mat_i8_tensorwise(ctx.get(), w, codes, s, b, 0, xs), nullptr);
    EXPECT_NE(ggml_ext_linear_i8_tensorwise(ctx.get(), x, w, s, b, 64, 0.5f), nullptr);
}

TEST_F(LinearI8Refusal, of_weights) {
    refuses({nullptr, x, s, b, 64, nullptr}, "weight is none");
    refuses({x, x, s, b, 64, nullptr}, "weight is f32 [64, 5, 1, 1], not i8 [K, N]");
    refuses({in.bytes({64, 12, 2, 1}), x, s, b, 64, nullptr}, "weight is i8 [64, 12, 2, 1]");
    refuses({in.tensor(GGML_TYPE_I8, {64, 12, 1, 1}, Rows::padded), x, s, b, 64, nullptr}, "not contiguous");
}

TEST_F(LinearI8Refusal, of_activations) {
    refuses({w, nullptr, s, b, 64, nullptr}, "activations are none");
    refuses({w, in.tensor(GGML_TYPE_F16, {64, 5, 1, 1}), s, b, 64, nullptr},
            "activations are f16 [64, 5, 1, 1]");
    refuses({w, in.floats({60, 5, 1, 1}), s, b, 4, nullptr}, "do not have the weight's K = 64");
    refuses({w, in.bytes({128, 5, 1, 1}), s, b, 4, nullptr}, "activations i8 [128, 5, 1, 1]");
    refuses({w, in.floats({64, 5, 1, 1}, Rows::sparse), s, b, 4, nullptr}, "not rows of adjacent floats");
    refuses({w, in.tensor(GGML_TYPE_I8, {64, 5, 1, 1}, Rows::padded), s, b, 4, nullptr}, "not contiguous");
}

TEST_F(LinearI8Refusal, of_groups) {
    for (const int group : {-1, 2, 8, 32, 256, 16384})
        refuses({w, x, s, b, group, nullptr}, "no power of four up to 4096 that divides K = 64");
    ggml_tensor * w48 = in.bytes({48, 12, 1, 1});
    refuses({w48, in.floats({48, 5, 1, 1}), s, b, 64, nullptr}, "group 64");
    refuses({w48, in.bytes({48, 5, 1, 1}), s, b, 64, nullptr}, "divides K = 48");
}

TEST_F(LinearI8Refusal, of_packed_activations) {
    ggml_tensor * packed = ggml_quantize_i8_convrot(ctx.get(), x, 16);
    refuses({w, packed, s, b, 64, nullptr}, "packed with group 16, the weight has group 64");
    refuses({w, packed, s, b, 0, nullptr}, "packed with group 16, the weight has group 1");
    refuses({w, packed, s, b, 16, xs}, "belong to plain i8 codes");
    layer_refuses(packed, b, 2.0f, "input scale 2");
}

TEST_F(LinearI8Refusal, of_packed_activations_with_other_rows) {
    LinearI8Attrs attrs = {16, LinearI8Input::packed, 16, 1.0f, {5, 1, 1}};
    ggml_tensor * inputs[] = {w, ggml_quantize_i8_convrot(ctx.get(), x, 16), s, b, nullptr};
    const auto create = [&] {
        return ggml_ext_op_create(ctx.get(), linear_i8_op(), inputs, 5, &attrs, sizeof(attrs));
    };
    EXPECT_NE(create(), nullptr);
    for (const int64_t rows : {int64_t(9), int64_t(-1), int64_t(1) << 62}) {
        attrs.rows[0] = rows;
        EXPECT_EQ(create(), nullptr) << rows;
        EXPECT_NE(std::string(ggml_ext_last_message()).find("do not hold the rows"), std::string::npos);
    }
}

TEST_F(LinearI8Refusal, of_scales_and_bias) {
    ggml_tensor * eleven = in.floats({11, 1, 1, 1});
    refuses({w, x, eleven, b, 64, nullptr}, "weight scale is f32 [11, 1, 1, 1]");
    refuses({w, x, eleven, b, 64, nullptr}, "one element for each of the 12 outputs");
    refuses({w, x, in.floats({1, 1, 1, 1}), b, 64, nullptr}, "weight scale is f32 [1, 1, 1, 1]");
    refuses({w, x, in.tensor(GGML_TYPE_F16, {12, 1, 1, 1}), b, 64, nullptr}, "weight scale is f16");
    refuses({w, x, s, eleven, 64, nullptr}, "bias is f32 [11, 1, 1, 1]");
    refuses({w, x, s, in.floats({12, 1, 1, 1}, Rows::sparse), 64, nullptr}, "bias is f32 [12, 1, 1, 1]");
    refuses({w, codes, s, b, 64, in.floats({4, 1, 1, 1})}, "one element for each of the 5 rows");
    refuses({w, x, s, b, 64, xs}, "activation scales f32 [5, 1, 1, 1] belong to plain i8 codes");
    layer_refuses(x, eleven, 2.0f, "bias is f32 [11, 1, 1, 1]");
}

TEST_F(LinearI8Refusal, of_input_scales) {
    layer_refuses(x, b, 0.0f, "input scale 0");
    layer_refuses(x, b, INFINITY, "input scale inf");
    layer_refuses(x, b, NAN, "input scale nan");
    layer_refuses(x, b, 1e-40f, "must be finite");
    layer_refuses(codes, b, 2.0f, "1 for activations i8");
}

TEST_F(LinearI8Refusal, of_results_that_cannot_exist) {
    ggml_tensor * endless = ggml_view_tensor(ctx.get(), x); // one row, repeated
    endless->ne[1] = int64_t(1) << 45;
    endless->nb[1] = 0;
    ggml_tensor * wide = in.tensor(GGML_TYPE_I8, {64, 1 << 20, 1, 1});
    EXPECT_EQ(ggml_mul_mat_i8_tensorwise(ctx.get(), wide, endless, nullptr, nullptr, 64, nullptr), nullptr);
}

} // namespace
} // namespace sd::test
