// Operands whose elements lie more than 2^31 elements (and 2^33 bytes) apart: no index or offset may be
// counted in 32 bits. The memory is only reserved; a few pages of it are ever touched.
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <vector>

namespace ggml::test {
namespace {

constexpr size_t kFarBytes = (size_t(1) << 33) + 4096; // between neighbours in the outer dimension

class FarApart : public testing::Test {
  protected:
    static constexpr int kNeighbours = 3;
    static constexpr size_t kReserved = kNeighbours * kFarBytes;

    void SetUp() override {
        memory = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0);
        ASSERT_NE(memory, MAP_FAILED) << "24 GiB of addresses cannot be reserved";
    }
    void TearDown() override {
        if (memory != MAP_FAILED) munmap(memory, kReserved);
    }

    // A copy of `dense` (at most kNeighbours in dimension `outer`, one in those after it) with that dimension
    // far apart.
    ggml_tensor * spread(ggml_tensor * dense, int outer) {
        ggml_tensor * far = ggml_dup_tensor(check.ctx(), dense);
        far->data = memory;
        for (int i = outer; i < GGML_MAX_DIMS; ++i)
            far->nb[i] = i == outer ? kFarBytes : far->nb[i - 1] * size_t(far->ne[i - 1]);
        compute(ggml_cpy(check.ctx(), dense, far), false);
        return far;
    }

    // Without OpCheck::compute, which saves whole operands, gaps included.
    std::vector<double> compute(ggml_tensor * result, bool use_ref) {
        ggml_cgraph * graph = ggml_new_graph(check.ctx());
        ggml_build_forward_expand(graph, result);
        ggml_cplan plan = ggml_graph_plan(graph, 2, nullptr);
        std::vector<uint8_t> work(plan.work_size);
        plan.work_data = work.data();
        plan.use_ref = use_ref;
        EXPECT_EQ(ggml_graph_compute(graph, &plan), GGML_STATUS_SUCCESS);
        return read_elements(result);
    }

    // An operator gives the same for the spread operand as for the dense one.
    void expect_same(ggml_tensor * dense, ggml_tensor * far, const char * what) {
        for (bool use_ref : {false, true})
            expect_close(compute(far, use_ref), compute(dense, use_ref), kExact, what);
    }

    OpCheck check;
    void * memory = MAP_FAILED;
};

TEST_F(FarApart, rows_are_read_and_written_at_their_place) {
    ggml_context * ctx = check.ctx();
    ggml_tensor * dense = check.input(GGML_TYPE_F32, {70, 3, 1, 1});
    ggml_tensor * far = spread(dense, 1);
    EXPECT_EQ(read_elements(far), read_elements(dense));
    ggml_tensor * order = check.indices({2, 0, 2, 1});
    expect_same(ggml_get_rows(ctx, dense, order), ggml_get_rows(ctx, far, order), "get_rows");
    expect_same(ggml_cont(ctx, dense), ggml_cont(ctx, far), "cont");
    expect_same(ggml_add(ctx, dense, dense), ggml_add(ctx, dense, far), "add");
    expect_same(ggml_sum_rows(ctx, dense), ggml_sum_rows(ctx, far), "sum_rows");
    expect_same(ggml_rms_norm(ctx, dense, 1e-5f), ggml_rms_norm(ctx, far, 1e-5f), "rms_norm");
}

TEST_F(FarApart, rows_of_a_product_are_found) {
    ggml_context * ctx = check.ctx();
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        ggml_tensor * dense = check.input(type, {64, 3, 1, 1});
        ggml_tensor * far = spread(dense, 1);
        for (int64_t m : {1, 3, 20}) {
            ggml_tensor * x = check.input(GGML_TYPE_F32, {64, m, 1, 1});
            expect_same(ggml_mul_mat(ctx, dense, x), ggml_mul_mat(ctx, far, x), "weights");
        }
    }
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0}) {
        ggml_tensor * weights = check.input(type, {64, 7, 1, 1});
        ggml_tensor * dense = check.input(GGML_TYPE_F32, {64, 3, 1, 1});
        expect_same(ggml_mul_mat(ctx, weights, dense), ggml_mul_mat(ctx, weights, spread(dense, 1)),
                    "activations");
    }
}

TEST_F(FarApart, planes_of_images_are_found) {
    ggml_context * ctx = check.ctx();
    ggml_tensor * dense = check.input(GGML_TYPE_F32, {14, 9, 3, 1});
    ggml_tensor * far = spread(dense, 2);
    ggml_tensor * kernel = check.input(GGML_TYPE_F32, {3, 3, 3, 5});
    ggml_tensor * depthwise = check.input(GGML_TYPE_F32, {3, 3, 1, 3});
    ggml_tensor * transposed = check.input(GGML_TYPE_F32, {2, 2, 4, 3});
    const auto build = [&](ggml_tensor * image) {
        return std::vector<ggml_tensor *>{
            ggml_conv_2d_direct(ctx, kernel, image, 1, 1, 1, 1, 1, 1),
            ggml_conv_2d_dw_direct(ctx, depthwise, image, 1, 1, 1, 1, 1, 1),
            ggml_conv_transpose_2d_p0(ctx, transposed, image, 2),
            ggml_im2col(ctx, kernel, image, 1, 1, 1, 1, 1, 1, true, GGML_TYPE_F16),
            ggml_group_norm(ctx, image, 2, 1e-5f),
            ggml_upscale(ctx, image, 2, GGML_SCALE_MODE_BILINEAR),
            ggml_pool_2d(ctx, image, GGML_OP_POOL_AVG, 2, 2, 2, 2, 0, 0),
            ggml_pad(ctx, image, 1, 1, 0, 0)};
    };
    const auto from_dense = build(dense), from_far = build(far);
    for (size_t i = 0; i < from_dense.size(); ++i)
        expect_same(from_dense[i], from_far[i], ggml_op_desc(from_dense[i]));
}

TEST_F(FarApart, heads_of_attention_are_found) {
    ggml_context * ctx = check.ctx();
    ggml_tensor * q = check.input(GGML_TYPE_F32, {20, 7, 3, 1});
    ggml_tensor * dense = check.input(GGML_TYPE_F16, {20, 33, 3, 1});
    ggml_tensor * far = spread(dense, 2);
    expect_same(ggml_flash_attn_ext(ctx, q, dense, dense, nullptr, 0.2f, 0, 0),
                ggml_flash_attn_ext(ctx, q, far, far, nullptr, 0.2f, 0, 0), "flash_attn");
}

} // namespace
} // namespace ggml::test
