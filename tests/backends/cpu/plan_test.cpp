#include "ggml-cpu.h"
#include "ggml.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

class Plan : public testing::Test {
  protected:
    Plan() : ctx(ggml_init({1u << 20, nullptr, false})) {}
    ~Plan() override { ggml_free(ctx); }

    ggml_cgraph * graph_of(ggml_tensor * t) {
        ggml_cgraph * graph = ggml_new_graph(ctx);
        ggml_build_forward_expand(graph, t);
        return graph;
    }

    ggml_tensor * filled(float value, int64_t n = 16) {
        return ggml_set_f32(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, n), value);
    }

    ggml_context * ctx;
};

TEST_F(Plan, computes_a_chain_with_the_context_as_work_memory) {
    ggml_tensor * a = filled(2);
    ggml_tensor * result = ggml_add(ctx, ggml_mul(ctx, a, a), a);
    ASSERT_EQ(ggml_graph_compute_with_ctx(ctx, graph_of(result), 2), GGML_STATUS_SUCCESS);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(ggml_get_f32_1d(result, i), 6.0f);
}

TEST_F(Plan, takes_the_default_number_of_threads_and_that_of_a_pool) {
    ggml_cgraph * graph = graph_of(ggml_add(ctx, filled(1), filled(2)));
    EXPECT_EQ(ggml_graph_plan(graph, 0, nullptr).n_threads, GGML_DEFAULT_N_THREADS);
    EXPECT_EQ(ggml_graph_plan(graph, 3, nullptr).n_threads, 3);
    ggml_threadpool_params params = ggml_threadpool_params_default(5);
    ggml_threadpool * pool = ggml_threadpool_new(&params);
    EXPECT_EQ(ggml_threadpool_get_n_threads(pool), 5);
    EXPECT_EQ(ggml_graph_plan(graph, 0, pool).n_threads, 5);
    ggml_threadpool_free(pool);
}

TEST_F(Plan, a_pool_of_no_threads_is_refused) {
    ggml_threadpool_params params = ggml_threadpool_params_default(1);
    params.n_threads = 0;
    EXPECT_EQ(ggml_threadpool_new(&params), nullptr);
}

TEST_F(Plan, stops_with_aborted_between_nodes_when_the_callback_says_so) {
    ggml_tensor * result = ggml_add(ctx, ggml_add(ctx, filled(1), filled(2)), filled(3));
    ggml_cgraph * graph = graph_of(result);
    ggml_cplan plan = ggml_graph_plan(graph, 1, nullptr);
    std::vector<uint8_t> work(plan.work_size);
    plan.work_data = work.data();
    int calls = 0;
    plan.abort_callback_data = &calls;
    plan.abort_callback = [](void * data) { return ++*static_cast<int *>(data) > 1; };
    EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_ABORTED);
    EXPECT_EQ(calls, 2);
}

TEST_F(Plan, nodes_not_marked_for_computing_are_left_alone) {
    ggml_tensor * branches[2] = {ggml_add(ctx, filled(1), filled(2)), ggml_add(ctx, filled(3), filled(4))};
    for (ggml_tensor * t : branches) ggml_set_f32(t, -1);
    ggml_cgraph * graph = ggml_new_graph(ctx);
    EXPECT_EQ(ggml_build_forward_select(graph, branches, 2, 1), branches[1]);
    ASSERT_EQ(ggml_graph_compute_with_ctx(ctx, graph, 1), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_get_f32_1d(branches[0], 0), -1.0f);
    EXPECT_EQ(ggml_get_f32_1d(branches[1], 0), 7.0f);
}

TEST_F(Plan, a_tensor_without_memory_fails_the_graph_instead_of_crashing) {
    ggml_tensor * a = filled(1);
    ggml_set_no_alloc(ctx, true);
    ggml_tensor * result = ggml_add(ctx, a, a);
    ggml_set_no_alloc(ctx, false);
    EXPECT_EQ(ggml_graph_compute_with_ctx(ctx, graph_of(result), 1), GGML_STATUS_FAILED);
}

TEST_F(Plan, a_plan_without_its_work_buffer_fails) {
    ggml_cplan plan = {};
    plan.n_threads = 1;
    plan.work_size = 64;
    EXPECT_EQ(ggml_graph_compute(graph_of(filled(1)), &plan), GGML_STATUS_FAILED);
}

TEST_F(Plan, more_threads_than_were_planned_for_are_refused_when_the_work_buffer_is_too_small) {
    ggml_tensor * q = ggml_set_f32(ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 64, 4, 2), 1);
    ggml_tensor * k = ggml_set_f32(ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 64, 1000, 2), 1);
    ggml_cgraph * graph = graph_of(ggml_flash_attn_ext(ctx, q, k, k, nullptr, 1, 0, 0));
    ggml_cplan plan = ggml_graph_plan(graph, 1, nullptr);
    ASSERT_GT(ggml_graph_plan(graph, 8, nullptr).work_size, plan.work_size);
    std::vector<uint8_t> work(plan.work_size);
    plan.work_data = work.data();
    EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_SUCCESS);
    plan.n_threads = 8;
    ggml::test::LogCapture log;
    EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_FAILED);
    EXPECT_NE(log.text.find("8 threads need"), std::string::npos) << log.text;
    plan.n_threads = GGML_MAX_N_THREADS + 1;
    EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_FAILED);
}

TEST_F(Plan, a_node_without_a_kernel_is_reported_with_every_type_and_shape) {
    ggml_tensor * a = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_I8, 64, 3), "a");
    ggml_tensor * b = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 2);
    ggml_tensor * product = ggml_set_name(ggml_mul_mat(ctx, a, b), "product");
    ggml::test::LogCapture log;
    EXPECT_EQ(ggml_graph_compute_with_ctx(ctx, graph_of(product), 1), GGML_STATUS_FAILED);
    EXPECT_NE(log.text.find("no kernel for MUL_MAT 'product' with these types, shapes and parameters: "
                            "f32 [3, 2, 1, 1] from i8 [64, 3, 1, 1], f32 [64, 2, 1, 1]\n"),
              std::string::npos)
        << log.text;
}

TEST_F(Plan, misaligned_tensors_fail_with_their_name_instead_of_being_read) {
    ggml_tensor * floats = filled(1, 64);
    ggml_tensor * blocks = ggml_set_zero(ggml_new_tensor_1d(ctx, GGML_TYPE_Q8_0, 128));
    ggml_tensor * row = filled(1, 32);
    ggml_tensor * odd_offset = ggml_set_name(ggml_view_1d(ctx, floats, 4, 2), "odd");
    ggml_tensor * odd_stride = ggml_set_name(ggml_view_2d(ctx, floats, 4, 3, 17, 0), "odd");
    ggml_tensor * odd_blocks = ggml_set_name(ggml_view_1d(ctx, blocks, 32, 1), "odd");
    for (ggml_tensor * result :
         {ggml_scale(ctx, odd_offset, 2), ggml_cont(ctx, odd_stride), ggml_mul_mat(ctx, odd_blocks, row)}) {
        ggml::test::LogCapture log;
        EXPECT_EQ(ggml_graph_compute_with_ctx(ctx, graph_of(result), 1), GGML_STATUS_FAILED);
        EXPECT_NE(log.text.find("'odd' has an address or a stride"), std::string::npos) << log.text;
    }
    // The stride of a single row leads nowhere.
    ggml_tensor * one_row = ggml_view_2d(ctx, floats, 4, 1, 17, 0);
    EXPECT_EQ(ggml_graph_compute_with_ctx(ctx, graph_of(ggml_cont(ctx, one_row)), 1), GGML_STATUS_SUCCESS);
}

TEST_F(Plan, single_elements_are_read_and_written_in_every_plain_type) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F64, GGML_TYPE_I8,
                           GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_I64}) {
        ggml_tensor * t = ggml_new_tensor_3d(ctx, type, 3, 2, 2);
        ggml_set_f32(t, 5);
        ggml_set_f32_nd(t, 2, 1, 1, 0, -7);
        EXPECT_EQ(ggml_get_f32_nd(t, 2, 1, 1, 0), -7.0f);
        EXPECT_EQ(ggml_get_f32_1d(t, 11), -7.0f);
        EXPECT_EQ(ggml_get_i32_1d(t, 10), 5);
        ggml_set_i32_1d(t, 0, 9);
        EXPECT_EQ(ggml_get_i32_nd(t, 0, 0, 0, 0), 9);
    }
    EXPECT_EQ(ggml_get_f32_1d(ggml_new_f32(ctx, 1.5f), 0), 1.5f);
    EXPECT_EQ(ggml_get_i32_1d(ggml_new_i32(ctx, -3), 0), -3);
}

} // namespace
