// Nodes whose scratch memory cannot be counted or had: a status that names them, never a buffer of wrapped
// size.
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <string>

namespace {

int64_t power(int exponent) { return int64_t(1) << exponent; }

class AbsurdSize : public testing::Test {
  protected:
    ggml_tensor * tensor(ggml_type type, int64_t n0, int64_t n1 = 1, int64_t n2 = 1) {
        return ggml_new_tensor_3d(ctx.get(), type, n0, n1, n2);
    }
    ggml_cgraph * graph_of(ggml_tensor * t) {
        ggml_cgraph * graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, ggml_set_name(t, "far too large"));
        return graph;
    }
    void expect_refused(ggml_tensor * node, int n_threads) {
        SCOPED_TRACE(ggml_op_desc(node));
        ggml_cgraph * graph = graph_of(node);
        EXPECT_EQ(ggml_graph_plan(graph, n_threads, nullptr).work_size, SIZE_MAX);
        ggml_backend_cpu_set_n_threads(backend.get(), n_threads);
        expect_failure([&] { return ggml_backend_graph_compute(backend.get(), graph); });
        expect_failure([&] { return ggml_graph_compute_with_ctx(ctx.get(), graph, n_threads); });
        expect_failure([&] {
            ggml_cplan plan = ggml_graph_plan(graph, n_threads, nullptr);
            plan.work_size = 0;
            return ggml_graph_compute(graph, &plan);
        });
    }
    template <class Fn>
    void expect_failure(Fn && compute) {
        ggml::test::LogCapture log;
        EXPECT_EQ(compute(), GGML_STATUS_ALLOC_FAILED);
        EXPECT_NE(log.text.find("'far too large'"), std::string::npos) << log.text;
    }

    ggml_context_ptr ctx{ggml_init({1u << 20, nullptr, true})};
    ggml_backend_ptr backend{ggml_backend_cpu_init()};
};

// The sizes of these wrap to a few bytes, or to a part of what is needed, when counted in 64 bits.
TEST_F(AbsurdSize, scratch_of_convolutions_is_counted_without_wrapping) {
    ggml_context * g = ctx.get();
    ggml_tensor * signal = tensor(GGML_TYPE_F32, 512);
    expect_refused(ggml_conv_transpose_1d(g, tensor(GGML_TYPE_F32, power(50)), signal, 1, 0, 1), 8);
    expect_refused(ggml_conv_transpose_2d_p0(g, tensor(GGML_TYPE_F32, power(25), power(25)), signal, 1), 8);
    ggml_tensor * wide = tensor(GGML_TYPE_F32, power(52));
    expect_refused(ggml_im2col(g, wide, wide, 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F32), 512);
}

TEST_F(AbsurdSize, scratch_of_products_and_attention_is_counted_without_wrapping) {
    ggml_context * g = ctx.get();
    ggml_tensor * weights = tensor(GGML_TYPE_F16, power(52));
    ggml_tensor * x = tensor(GGML_TYPE_F32, power(52));
    expect_refused(ggml_mul_mat(g, weights, x), 16);
    expect_refused(ggml_mul_mat_id(g, weights, x, tensor(GGML_TYPE_I32, 1)), 16);
    // One value head for many key heads.
    ggml_tensor * q = tensor(GGML_TYPE_F32, 64, 1, power(13));
    expect_refused(ggml_flash_attn_ext(g, q, tensor(GGML_TYPE_F16, 64, power(15), power(13)),
                                       tensor(GGML_TYPE_F16, power(45), power(15)), nullptr, 1, 0, 0),
                   8);
}

TEST_F(AbsurdSize, scratch_of_rows_is_counted_without_wrapping) {
    ggml_context * g = ctx.get();
    expect_refused(ggml_rope(g, tensor(GGML_TYPE_F32, power(58)), tensor(GGML_TYPE_I32, 1), 64, 0), 16);
    expect_refused(
        ggml_interpolate(g, tensor(GGML_TYPE_F32, 2, 2), power(52), 1, 1, 1, GGML_SCALE_MODE_BILINEAR), 512);
}

TEST_F(AbsurdSize, a_context_without_room_for_scratch_fails_with_the_node_and_the_bytes) {
    ggml_tensor * node =
        ggml_rope(ctx.get(), tensor(GGML_TYPE_F32, power(20)), tensor(GGML_TYPE_I32, 1), 64, 0);
    ggml_cgraph * graph = graph_of(node);
    const size_t needed = ggml_graph_plan(graph, 2, nullptr).work_size;
    ASSERT_GT(needed, ggml_get_mem_size(ctx.get()));
    ggml::test::LogCapture log;
    EXPECT_EQ(ggml_graph_compute_with_ctx(ctx.get(), graph, 2), GGML_STATUS_ALLOC_FAILED);
    EXPECT_NE(log.text.find(std::to_string(needed) + " bytes"), std::string::npos) << log.text;
    EXPECT_NE(log.text.find("ROPE 'far too large'"), std::string::npos) << log.text;
}

} // namespace
