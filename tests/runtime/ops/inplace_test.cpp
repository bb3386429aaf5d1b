#include "tests/runtime/ops/op_graph.h"

#include "runtime/ops/inplace.h"

namespace ggml::test {
namespace {

TEST(op_can_inplace, holds_for_operators_that_read_an_element_before_writing_it) {
    for (const ggml_op op : {GGML_OP_ADD, GGML_OP_MUL, GGML_OP_UNARY, GGML_OP_SCALE, GGML_OP_ROPE,
                             GGML_OP_SOFT_MAX, GGML_OP_RMS_NORM, GGML_OP_DIAG_MASK_INF, GGML_OP_FILL}) {
        EXPECT_TRUE(op_can_inplace(op)) << ggml_op_name(op);
    }
}

TEST(op_can_inplace, fails_where_results_need_other_elements_of_the_source) {
    for (const ggml_op op :
         {GGML_OP_MUL_MAT, GGML_OP_CONCAT, GGML_OP_REPEAT, GGML_OP_FLASH_ATTN_EXT, GGML_OP_ROLL,
          GGML_OP_GET_ROWS, GGML_OP_CONT, GGML_OP_ARGSORT, GGML_OP_NONE, GGML_OP_CUSTOM}) {
        EXPECT_FALSE(op_can_inplace(op)) << ggml_op_name(op);
    }
}

} // namespace
} // namespace ggml::test
