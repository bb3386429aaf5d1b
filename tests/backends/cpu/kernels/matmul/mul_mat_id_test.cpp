// MUL_MAT_ID: each row of activations meets the expert its id names.
#include "tests/support/log_capture.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

constexpr ggml_type kTypes[] = {GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q4_0,
                                GGML_TYPE_Q8_0, GGML_TYPE_Q2_K, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K};

// Ids that leave an expert unused, use one once and another often.
std::vector<int64_t> uneven_ids(int64_t n, int64_t experts) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < n; ++i) ids.push_back(i == 3 ? 0 : 1 + (i * i + i / 3) % (experts - 2));
    return ids;
}

void check(ggml_type type, int64_t used, int64_t slots, int64_t tokens, Layout layout = Layout::contiguous) {
    const int64_t k = 256, n = 37, experts = 5;
    OpCheck op;
    SCOPED_TRACE(testing::Message() << ggml_type_name(type) << " used " << used << " tokens " << tokens);
    ggml_tensor * as = op.input(type, {k, n, experts, 1});
    ggml_tensor * b = op.input(GGML_TYPE_F32, {k, slots, tokens, 1}, layout);
    ggml_tensor * ids = op.indices(uneven_ids(used * tokens, experts), {used, tokens, 1, 1});
    RunOptions options;
    options.threads = {1, 3};
    op.check(ggml_mul_mat_id(op.ctx(), as, b, ids), {2e-5}, options);
}

TEST(mul_mat_id, multiplies_each_row_with_its_expert) {
    for (ggml_type type : kTypes) {
        check(type, 2, 2, 1);
        check(type, 3, 3, 17);
    }
}

TEST(mul_mat_id, repeats_activations_over_the_experts_of_a_token) {
    for (ggml_type type : kTypes) {
        check(type, 4, 1, 6);
        check(type, 4, 2, 6);
    }
}

TEST(mul_mat_id, follows_the_strides_of_activations) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_Q8_0}) {
        for (Layout layout : {Layout::padded_rows, Layout::transposed01, Layout::permuted12})
            check(type, 2, 2, 9, layout);
    }
}

TEST(mul_mat_id, gathers_more_rows_than_fit_at_once) {
    OpCheck op(64u << 20);
    RunOptions options;
    options.threads = {1, 2};
    options.all_isa_levels = false;
    ggml_tensor * as = op.input(GGML_TYPE_F16, {32, 9, 2, 1});
    ggml_tensor * b = op.input(GGML_TYPE_F32, {32, 1, 2500, 1});
    ggml_tensor * ids = op.indices(std::vector<int64_t>(2500, 1), {1, 2500, 1, 1});
    op.check(ggml_mul_mat_id(op.ctx(), as, b, ids), {1e-5}, options);
}

TEST(mul_mat_id, fails_with_the_nodes_name_for_an_id_without_expert) {
    for (int64_t bad : {-1, 4, 1000}) {
        for (bool use_ref : {false, true}) {
            OpCheck op;
            ggml_tensor * as = op.input(GGML_TYPE_Q8_0, {64, 8, 4, 1});
            ggml_tensor * b = op.input(GGML_TYPE_F32, {64, 2, 3, 1});
            ggml_tensor * ids = op.indices({0, 1, 2, 3, bad, 0}, {2, 3, 1, 1});
            ggml_tensor * y = ggml_mul_mat_id(op.ctx(), as, b, ids);
            ggml_set_name(y, "router_7");
            LogCapture log;
            EXPECT_EQ(op.compute_status(y, use_ref, 2), GGML_STATUS_FAILED);
            EXPECT_NE(log.text.find("router_7"), std::string::npos) << log.text;
            EXPECT_NE(log.text.find("expert id " + std::to_string(bad) + " "), std::string::npos) << log.text;
        }
    }
}

} // namespace
} // namespace ggml::test
