#include "checkpoint/type_rules.h"

#include "checkpoint/safetensors/test_file.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

TensorInfo tensor(const std::string & name, StoredType type = StoredType::bf16,
                  std::vector<int64_t> shape = {256, 256}) {
    TensorInfo t = {};
    t.name = name;
    t.type = type;
    t.shape = std::move(shape);
    return t;
}

ggml_type target(const std::string & type, const std::string & rules, const TensorInfo & t) {
    return TypeRules::parse(type, rules).target_type(t);
}

std::string refusal(const std::string & type, const std::string & rules) {
    return test::refusal_of([&] { TypeRules::parse(type, rules); });
}

TEST(type_rules, without_rules_tensors_stay_as_they_are) {
    EXPECT_EQ(TypeRules().target_type(tensor("w")), GGML_TYPE_BF16);
    EXPECT_EQ(TypeRules().target_type(tensor("w", StoredType::f8_e4m3)), GGML_TYPE_F16);
    EXPECT_EQ(target("", "", tensor("w", StoredType::i8)), GGML_TYPE_I8);
}

TEST(type_rules, the_type_is_for_all_float_weights) {
    for (const StoredType stored :
         {StoredType::f32, StoredType::f16, StoredType::f64, StoredType::f8_e5m2, StoredType(GGML_TYPE_Q8_0)})
        EXPECT_EQ(target("q4_K", "", tensor("w", stored)), GGML_TYPE_Q4_K);
    for (const StoredType stored : {StoredType::i8, StoredType::u8, StoredType::i64})
        EXPECT_EQ(target("q4_K", "", tensor("w", stored)), TypeRules().target_type(tensor("w", stored)));
}

TEST(type_rules, the_first_rule_that_is_found_in_the_name_wins) {
    const std::string rules = "attn\\.w[qk]=q8_0,^blk=f16,a{1,2}$=f32";
    EXPECT_EQ(target("q4_0", rules, tensor("blk.0.attn.wq.weight")), GGML_TYPE_Q8_0);
    EXPECT_EQ(target("q4_0", rules, tensor("blk.0.attn.wv.weight")), GGML_TYPE_F16);
    EXPECT_EQ(target("q4_0", rules, tensor("x.blk.aa")), GGML_TYPE_F32);
    EXPECT_EQ(target("q4_0", rules, tensor("x.blk")), GGML_TYPE_Q4_0);
    EXPECT_EQ(target("", rules, tensor("x.blk")), GGML_TYPE_BF16);
}

TEST(type_rules, small_and_sensitive_tensors_are_not_converted) {
    for (const char * name : {"l.bias",
                              "norm.scale",
                              "l.weight_scale",
                              "l.weight_s_rel",
                              "l.weight_s_channel",
                              "l.weight_codebook",
                              "l.comfy_quant",
                              "img_in.weight",
                              "a.txt_in.weight",
                              "time_in.w",
                              "vector_in.w",
                              "guidance_in.w",
                              "final_layer.linear.weight",
                              "x_embedder.w",
                              "t_embedder.w",
                              "y_embedder.w",
                              "pos_embed",
                              "context_embedder.w",
                              "time_embed.0.w",
                              "label_emb.0",
                              "token_embedding.weight"})
        EXPECT_EQ(target("q8_0", ".=q8_0", tensor(name)), GGML_TYPE_BF16) << name;
    EXPECT_EQ(target("q8_0", "", tensor("img_into.weight")), GGML_TYPE_Q8_0);
}

TEST(type_rules, rows_that_are_no_whole_blocks_and_vectors_stay) {
    EXPECT_EQ(target("q4_K", "", tensor("w", StoredType::f16, {256, 128})), GGML_TYPE_F16);
    EXPECT_EQ(target("q8_0", "", tensor("w", StoredType::f16, {256, 128})), GGML_TYPE_Q8_0);
    EXPECT_EQ(target("q8_0", "", tensor("w", StoredType::f16, {64, 64, 3, 3})), GGML_TYPE_F16);
    EXPECT_EQ(target("q8_0", "", tensor("w", StoredType::f32, {256})), GGML_TYPE_F32);
    EXPECT_EQ(target("f16", "", tensor("w", StoredType::f32, {3})), GGML_TYPE_F16);
}

TEST(type_rules, wrong_items_are_named) {
    const std::string types = " is no type weights can have; there are f32 f16 q4_0 ";
    EXPECT_TRUE(refusal("q4_k", "").starts_with("--type: \"q4_k\"" + types));
    for (const char * type : {"i8", "q8_K", "q8_1", "iq2_xs", "Q8_0", " f16"})
        EXPECT_NE(refusal(type, ""), "") << type;
    EXPECT_EQ(refusal("", "a=f16,b"), "--tensor-type-rules: \"b\" is not of the form regex=type");
    for (const char * rules : {"a=f16,,b=f16", "a=f16,", ","})
        EXPECT_EQ(refusal("", rules), "--tensor-type-rules: \"\" is not of the form regex=type") << rules;
    EXPECT_EQ(refusal("", "=f16"), "--tensor-type-rules: \"=f16\" has an empty pattern");
    EXPECT_TRUE(
        refusal("", "a=f17").starts_with("--tensor-type-rules: \"a=f17\" has a wrong type: \"f17\"" + types));
    EXPECT_EQ(refusal("", std::string(257, 'a') + "=f16"), "--tensor-type-rules: \"" + std::string(60, 'a') +
                                                               "...\" has a pattern of more than 256 bytes");
    for (const char * pattern : {"(", "[", "*", "\\", "a{2,1}", "(a)\\1"})
        EXPECT_EQ(refusal("", std::string(pattern) + "=f16")
                      .find("--tensor-type-rules: \"" + std::string(pattern) + "=f16\" is no pattern"),
                  0u)
            << pattern;
}

TEST(type_rules, patterns_cannot_exhaust_stack_or_time) {
    for (const char * pattern : {"(a?){9999}", "((a?){16}){9}", "((a?){2,129})", "a{99999999999999999999}"})
        EXPECT_EQ(refusal("", std::string(pattern) + "=f16"), "--tensor-type-rules: \"" +
                                                                  std::string(pattern) +
                                                                  "=f16\" repeats parts more than 128 times");
    const TensorInfo long_name = tensor(std::string(512, 'a'));
    EXPECT_EQ(target("", "(a+)+b=f16", long_name), GGML_TYPE_BF16);
    EXPECT_EQ(target("", "(a|a?)+$=f16", long_name), GGML_TYPE_F16);
    EXPECT_EQ(target("", "((a?){16}){8}b=f16", long_name), GGML_TYPE_BF16);
    EXPECT_EQ(refusal("", std::string(120, '(') + std::string(120, ')') + "=f16"), "");
    EXPECT_EQ(test::refusal_of([] { target("", "x=f16", tensor(std::string(513, 'a'))); }),
              "--tensor-type-rules: \"x=f16\" cannot be applied: the tensor " + std::string(40, 'a') +
                  "... has a name of more than 512 bytes");
}

} // namespace
} // namespace sd
