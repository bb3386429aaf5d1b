#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

class FlashAttention : public ::testing::Test {
  protected:
    OpGraph g;
    ggml_tensor * q = g.input("q", {64, 10, 8, 2});
    ggml_tensor * k = g.input("k", {64, 20, 4, 2}, GGML_TYPE_F16);
    ggml_tensor * v = g.input("v", {32, 20, 4, 2}, GGML_TYPE_F16);
    ggml_tensor * mask = g.input("mask", {20, 16, 1, 2}, GGML_TYPE_F16);

    ggml_tensor * attend(ggml_tensor * keys, ggml_tensor * values, ggml_tensor * m, float max_bias = 0.0f) {
        return ggml_flash_attn_ext(g, q, keys, values, m, 0.125f, max_bias, 30.0f);
    }
    void refused(ggml_tensor * keys, ggml_tensor * values, ggml_tensor * m) {
        expect_stops({"ggml_flash_attn_ext", "f32 [64, 10, 8, 2]"}, [&] { attend(keys, values, m); });
    }
};

TEST_F(FlashAttention, puts_heads_before_tokens) {
    expect_node(attend(k, v, mask, 8.0f), {GGML_OP_FLASH_ATTN_EXT,
                                           GGML_TYPE_F32,
                                           {32, 8, 10, 2},
                                           {"q", "k", "v", "mask"},
                                           {bits(0.125f), bits(8.0f), bits(30.0f), 0}});
    EXPECT_EQ(attend(k, v, nullptr)->src[3], nullptr);
}

TEST_F(FlashAttention, refuses_keys_values_and_masks_that_do_not_match) {
    refused(g.input("x", {32, 20, 4, 2}), v, nullptr);
    refused(g.input("x", {64, 20, 3, 2}), v, nullptr);
    refused(g.input("x", {64, 20, 4, 1}), v, nullptr);
    refused(k, g.input("x", {32, 19, 4, 2}), nullptr);
    refused(k, g.input("x", {32, 20, 3, 2}), nullptr);
    refused(k, g.input("x", {32, 20, 4, 1}), nullptr);
    refused(k, v, g.input("x", {20, 16, 1, 1}));
    refused(k, v, g.input("x", {19, 16, 1, 1}, GGML_TYPE_F16));
    refused(k, v, g.input("x", {20, 9, 1, 1}, GGML_TYPE_F16));
    refused(k, v, g.input("x", {20, 16, 3, 1}, GGML_TYPE_F16));
    refused(k, v, ggml_transpose(g, g.input("x", {16, 20, 1, 1}, GGML_TYPE_F16)));
    expect_stops({"ggml_flash_attn_ext"}, [&] { attend(k, v, nullptr, 1.0f); });
}

TEST_F(FlashAttention, precision_is_the_fourth_parameter) {
    ggml_tensor * t = attend(k, v, nullptr);
    EXPECT_EQ(ggml_flash_attn_ext_get_prec(t), GGML_PREC_DEFAULT);
    ggml_flash_attn_ext_set_prec(t, GGML_PREC_F32);
    EXPECT_EQ(ggml_flash_attn_ext_get_prec(t), GGML_PREC_F32);
    expect_op_params(t, {bits(0.125f), 0, bits(30.0f), GGML_PREC_F32});
    expect_stops({"ggml_flash_attn_ext_set_prec"}, [&] { ggml_flash_attn_ext_set_prec(q, GGML_PREC_F32); });
    expect_stops({"ggml_flash_attn_ext_get_prec"}, [&] { ggml_flash_attn_ext_get_prec(q); });
}

TEST_F(FlashAttention, sinks_are_one_per_head_and_can_be_removed) {
    ggml_tensor * t = attend(k, v, nullptr);
    ggml_tensor * sinks = g.input("sinks", {8, 1, 1, 1});
    ggml_flash_attn_ext_add_sinks(t, sinks);
    EXPECT_EQ(t->src[4], sinks);
    expect_stops({"ggml_flash_attn_ext_add_sinks"}, [&] { ggml_flash_attn_ext_add_sinks(t, sinks); });
    ggml_flash_attn_ext_add_sinks(t, nullptr);
    EXPECT_EQ(t->src[4], nullptr);
    expect_stops({"ggml_flash_attn_ext_add_sinks", "f32 [4, 1, 1, 1]"}, [&] {
        ggml_flash_attn_ext_add_sinks(t, g.input("s", {4, 1, 1, 1}));
    });
    expect_stops({"ggml_flash_attn_ext_add_sinks"}, [&] { ggml_flash_attn_ext_add_sinks(q, sinks); });
}

} // namespace
} // namespace ggml::test
