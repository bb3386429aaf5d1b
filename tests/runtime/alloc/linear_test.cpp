// ggml_tallocr and ggml_backend_alloc_ctx_tensors*.
#include "ggml-alloc.h"

#include "tests/runtime/alloc/test_buffers.h"
#include "tests/runtime/graph/graph_maker.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <memory>

namespace ggml::test {
namespace {

struct FreeBuffer {
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
};
using Buffer = std::unique_ptr<ggml_backend_buffer, FreeBuffer>;

size_t offset_in(const ggml_tensor * t) {
    return size_t(static_cast<char *>(t->data) -
                  static_cast<char *>(ggml_backend_buffer_get_base(t->buffer)));
}

TEST(tallocr, places_tensors_one_after_another_at_the_alignment) {
    TestBuffers buffers(64);
    Buffer buffer(ggml_backend_buft_alloc_buffer(buffers, 256));
    ggml_tallocr talloc = ggml_tallocr_new(buffer.get());
    GraphMaker m;
    ggml_tensor *a = m.leaf(10), *b = m.leaf(65), *c = m.leaf(64), *d = m.leaf(1);
    for (ggml_tensor * t : {a, b, c}) ASSERT_EQ(ggml_tallocr_alloc(&talloc, t), GGML_STATUS_SUCCESS);
    EXPECT_EQ(offset_in(a), 0u);
    EXPECT_EQ(offset_in(b), 64u);
    EXPECT_EQ(offset_in(c), 192u);
    EXPECT_EQ(talloc.offset, 256u);
    LogCapture log;
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, d), GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(d->data, nullptr);
    EXPECT_EQ(d->buffer, nullptr);
    EXPECT_EQ(talloc.offset, 256u);
    EXPECT_NE(log.text.find("0 of 256 are left"), std::string::npos) << log.text;
}

TEST(tallocr, a_tensor_the_backend_cannot_set_up_leaves_everything_unchanged) {
    TestBuffers buffers(64);
    Buffer buffer(ggml_backend_buft_alloc_buffer(buffers, 256));
    ggml_tallocr talloc = ggml_tallocr_new(buffer.get());
    buffers.failing_init = 0;
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    EXPECT_EQ(ggml_tallocr_alloc(&talloc, a), GGML_STATUS_FAILED);
    EXPECT_EQ(a->data, nullptr);
    EXPECT_EQ(talloc.offset, 0u);
}

TEST(ctx_tensors, all_tensors_and_views_get_storage_in_one_buffer_of_the_reported_size) {
    TestBuffers buffers(32);
    GraphMaker m;
    ggml_tensor *a = m.leaf(33), *shown = m.view(a, 8, 16), *b = m.leaf(0), *c = m.leaf(5);
    const size_t size = ggml_backend_alloc_ctx_tensors_from_buft_size(m.ctx(), buffers);
    EXPECT_EQ(buffers.n_allocated, 0);
    EXPECT_EQ(size, 96u);
    Buffer buffer(ggml_backend_alloc_ctx_tensors_from_buft(m.ctx(), buffers));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_size(buffer.get()), size);
    for (ggml_tensor * t : {a, shown, b, c}) EXPECT_EQ(t->buffer, buffer.get());
    EXPECT_EQ(offset_in(shown), 16u);
    EXPECT_EQ(offset_in(c), 64u);
}

TEST(ctx_tensors, what_has_storage_is_left_alone) {
    TestBuffers buffers;
    GraphMaker m;
    char memory[64];
    ggml_tensor *a = m.leaf(), *b = m.leaf();
    a->data = memory;
    Buffer buffer(ggml_backend_alloc_ctx_tensors_from_buft(m.ctx(), buffers));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(a->data, memory);
    EXPECT_EQ(a->buffer, nullptr);
    EXPECT_EQ(b->buffer, buffer.get());
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(m.ctx(), buffers), nullptr) << "nothing left to do";
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft_size(m.ctx(), buffers), 0u);
}

TEST(ctx_tensors, views_of_another_context_are_shown_even_when_nothing_is_allocated) {
    TestBuffers buffers;
    GraphMaker weights, views;
    ggml_tensor * a = weights.leaf();
    ggml_tensor * early = views.view(a, 8, 8);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(views.ctx(), buffers), nullptr);
    EXPECT_EQ(early->data, nullptr) << "what it shows has no storage yet";
    Buffer buffer(ggml_backend_alloc_ctx_tensors_from_buft(weights.ctx(), buffers));
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(views.ctx(), buffers), nullptr);
    EXPECT_EQ(early->buffer, buffer.get());
    EXPECT_EQ(offset_in(early), 8u);
}

TEST(ctx_tensors, beyond_the_largest_buffer_several_appear_as_one) {
    TestBuffers buffers(32, 128);
    GraphMaker m;
    std::vector<ggml_tensor *> tensors;
    for (int64_t n : {64, 64, 64, 300, 32}) tensors.push_back(m.leaf(n));
    Buffer buffer(ggml_backend_alloc_ctx_tensors_from_buft(m.ctx(), buffers));
    ASSERT_NE(buffer, nullptr);
    EXPECT_TRUE(is_multi_buffer(buffer.get()));
    EXPECT_EQ(buffers.n_buffers, 4);
    EXPECT_EQ(ggml_backend_buffer_get_size(buffer.get()), 128u + 64 + 320 + 32);
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft_size(m.ctx(), buffers), 0u);
    EXPECT_EQ(tensors[0]->buffer, tensors[1]->buffer);
    EXPECT_NE(tensors[1]->buffer, tensors[2]->buffer);
    EXPECT_NE(tensors[2]->buffer, tensors[3]->buffer);
    buffer.reset();
    EXPECT_EQ(buffers.n_buffers, 0);
}

TEST(ctx_tensors, missing_memory_is_null_and_leaves_no_address_behind) {
    TestBuffers buffers(32, 128);
    buffers.budget = 200;
    GraphMaker m;
    ggml_tensor *a = m.leaf(100), *shown = m.view(a, 8), *b = m.leaf(100);
    LogCapture log;
    EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(m.ctx(), buffers), nullptr);
    EXPECT_NE(log.text.find("no memory"), std::string::npos);
    for (ggml_tensor * t : {a, shown, b}) EXPECT_EQ(t->data, nullptr);
    EXPECT_EQ(buffers.n_buffers, 0);
}

TEST(ctx_tensors, a_tensor_the_backend_cannot_set_up_gives_null_and_takes_everything_back) {
    for (int failing = 0; failing < 3; ++failing) {
        TestBuffers buffers;
        buffers.failing_init = failing;
        GraphMaker m;
        ggml_tensor *a = m.leaf(), *shown = m.view(a, 8), *b = m.leaf();
        EXPECT_EQ(ggml_backend_alloc_ctx_tensors_from_buft(m.ctx(), buffers), nullptr);
        for (ggml_tensor * t : {a, shown, b}) {
            EXPECT_EQ(t->data, nullptr) << failing;
            EXPECT_EQ(t->buffer, nullptr) << failing;
        }
        EXPECT_EQ(buffers.n_buffers, 0);
    }
}

TEST(ctx_tensors, a_context_with_memory_of_its_own_stops) {
    TestBuffers buffers;
    ggml_context * ctx = ggml_init({1024, nullptr, /*no_alloc=*/false});
    EXPECT_DEATH(ggml_backend_alloc_ctx_tensors_from_buft(ctx, buffers), "no_alloc");
    ggml_free(ctx);
}

} // namespace
} // namespace ggml::test
