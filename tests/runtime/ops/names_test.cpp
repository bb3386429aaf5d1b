#include "tests/runtime/ops/op_graph.h"

#include <set>

namespace ggml::test {
namespace {

TEST(op_name, is_the_enumerator_without_its_prefix) {
    EXPECT_STREQ(ggml_op_name(GGML_OP_NONE), "NONE");
    EXPECT_STREQ(ggml_op_name(GGML_OP_MUL_MAT), "MUL_MAT");
    EXPECT_STREQ(ggml_op_name(GGML_OP_FLASH_ATTN_EXT), "FLASH_ATTN_EXT");
    EXPECT_STREQ(ggml_op_name(GGML_OP_GLU), "GLU");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_MUL_MAT), "X*Y");
    EXPECT_STREQ(ggml_op_symbol(GGML_OP_ADD), "x+y");
}

TEST(op_name, every_number_has_a_name_of_its_own) {
    std::set<std::string> names;
    for (int op = 0; op < GGML_OP_COUNT; ++op) {
        names.insert(ggml_op_name(ggml_op(op)));
        EXPECT_STRNE(ggml_op_name(ggml_op(op)), "UNKNOWN");
        EXPECT_STRNE(ggml_op_symbol(ggml_op(op)), "?");
    }
    EXPECT_EQ(names.size(), size_t(GGML_OP_COUNT));
    EXPECT_STREQ(ggml_op_name(GGML_OP_COUNT), "UNKNOWN");
}

TEST(function_name, every_number_has_a_name_of_its_own) {
    std::set<std::string> names;
    for (int op = 0; op < GGML_UNARY_OP_COUNT; ++op) names.insert(ggml_unary_op_name(ggml_unary_op(op)));
    for (int op = 0; op < GGML_GLU_OP_COUNT; ++op) names.insert(ggml_glu_op_name(ggml_glu_op(op)));
    EXPECT_EQ(names.size(), size_t(GGML_UNARY_OP_COUNT) + size_t(GGML_GLU_OP_COUNT));
    EXPECT_STREQ(ggml_unary_op_name(GGML_UNARY_OP_GELU_QUICK), "GELU_QUICK");
    EXPECT_STREQ(ggml_glu_op_name(GGML_GLU_OP_SWIGLU_OAI), "SWIGLU_OAI");
    EXPECT_STREQ(ggml_unary_op_name(GGML_UNARY_OP_COUNT), "UNKNOWN");
    EXPECT_STREQ(ggml_glu_op_name(GGML_GLU_OP_COUNT), "UNKNOWN");
}

TEST(op_desc, names_the_function_where_there_is_one) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 1, 1});
    EXPECT_STREQ(ggml_op_desc(ggml_silu(g, a)), "SILU");
    EXPECT_STREQ(ggml_op_desc(ggml_geglu(g, a)), "GEGLU");
    EXPECT_STREQ(ggml_op_desc(ggml_sqr(g, a)), "SQR");
    EXPECT_STREQ(ggml_op_desc(a), "NONE");
}

} // namespace
} // namespace ggml::test
