// ADD_ID and ACC: the operators that address part of an operand.
#include "runtime/ops/params.h"
#include "tests/support/log_capture.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

TEST(add_id, adds_the_row_each_id_names) {
    OpCheck check;
    ggml_tensor * a = check.values({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2, 1});
    ggml_tensor * b = check.values({10, 20, 30, 40, 50, 60}, {2, 3, 1, 1});
    ggml_tensor * ids = check.indices({2, 0, 1, 2}, {2, 2, 1, 1});
    expect_close(check.compute(ggml_add_id(check.ctx(), a, b, ids), true), {51, 62, 13, 24, 35, 46, 57, 68},
                 kExact, "add_id");
}

TEST(add_id, kernel_equals_reference_for_every_layout) {
    for (Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::permuted12}) {
        OpCheck check;
        std::vector<int64_t> ids;
        for (int i = 0; i < 6 * 11; ++i) ids.push_back((i * 7) % 5);
        ggml_tensor * a = check.input(GGML_TYPE_F32, {1033, 6, 11, 1}, layout);
        ggml_tensor * b = check.input(GGML_TYPE_F32, {1033, 5, 1, 1}, Layout::padded_rows);
        check.check(ggml_add_id(check.ctx(), a, b, check.indices(ids, {6, 11, 1, 1})), kExact);
    }
}

TEST(add_id, an_id_outside_the_table_fails_and_names_node_and_index) {
    for (int64_t bad : {int64_t(3), int64_t(-1)}) {
        for (bool use_ref : {false, true}) {
            OpCheck check;
            ggml_tensor * a = check.input(GGML_TYPE_F32, {4, 2, 2, 1});
            ggml_tensor * b = check.input(GGML_TYPE_F32, {4, 3, 1, 1});
            ggml_tensor * y = ggml_add_id(check.ctx(), a, b, check.indices({0, 1, bad, 2}, {2, 2, 1, 1}));
            ggml_set_name(y, "expert_bias");
            LogCapture log;
            EXPECT_EQ(check.compute_status(y, use_ref, 2), GGML_STATUS_FAILED);
            EXPECT_NE(log.text.find("expert_bias"), std::string::npos) << log.text;
            EXPECT_NE(log.text.find("id " + std::to_string(bad) + " at [0, 1]"), std::string::npos)
                << log.text;
        }
    }
}

ggml_tensor * acc_into_middle(OpCheck & check, bool in_place, Layout layout = Layout::contiguous) {
    ggml_tensor * a = check.input(GGML_TYPE_F32, {1100, 7, 3, 2});
    ggml_tensor * b = check.input(GGML_TYPE_F32, {1051, 4, 2, 2}, layout);
    const size_t offset = 2 * a->nb[1] + 9 * sizeof(float);
    return (in_place ? ggml_acc_inplace : ggml_acc)(check.ctx(), a, b, a->nb[1], a->nb[2], a->nb[3], offset);
}

TEST(acc, adds_to_a_region_and_keeps_the_rest) {
    for (Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::permuted12}) {
        OpCheck check;
        check.check(acc_into_middle(check, false, layout), kExact);
    }
}

TEST(acc, in_place_adds_to_its_own_input) {
    OpCheck check;
    check.check(acc_into_middle(check, true), kExact);
}

TEST(acc, hand_computed_values_check_the_reference_itself) {
    OpCheck check;
    ggml_tensor * a = check.values({1, 2, 3, 4, 5, 6}, {3, 2, 1, 1});
    ggml_tensor * b = check.values({10, 20}, {1, 2, 1, 1});
    ggml_tensor * y = ggml_acc(check.ctx(), a, b, a->nb[1], a->nb[2], a->nb[3], sizeof(float));
    expect_close(check.compute(y, true), {1, 12, 3, 4, 25, 6}, kExact, "acc");
}

TEST(acc, a_region_outside_the_destination_or_with_overlapping_rows_is_refused) {
    OpCheck check;
    ggml_tensor * a = check.input(GGML_TYPE_F32, {8, 4, 1, 1});
    ggml_tensor * b = check.input(GGML_TYPE_F32, {4, 3, 1, 1});
    // Programs write op_params themselves, so what the constructor would refuse can still arrive here.
    const auto status = [&](int32_t row_stride, int32_t offset) {
        ggml_tensor * y = ggml_acc(check.ctx(), a, b, a->nb[1], a->nb[2], a->nb[3], 0);
        set_params(y, RegionParams{row_stride, int32_t(a->nb[2]), int32_t(a->nb[3]), offset, 0});
        return check.compute_status(y, false);
    };
    LogCapture log;
    EXPECT_EQ(status(32, 100 * 4), GGML_STATUS_FAILED);
    EXPECT_EQ(status(32, 13 * 4), GGML_STATUS_FAILED);
    EXPECT_EQ(status(32, -4), GGML_STATUS_FAILED);
    EXPECT_EQ(status(8, 0), GGML_STATUS_FAILED);
    EXPECT_EQ(status(32, 12 * 4), GGML_STATUS_SUCCESS);
}

} // namespace
} // namespace ggml::test
