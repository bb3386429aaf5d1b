#include "ggml-alloc.h"

#include "tests/runtime/alloc/test_buffers.h"
#include "tests/runtime/graph/graph_maker.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace ggml::test {
namespace {

struct FreeGallocr {
    void operator()(ggml_gallocr_t galloc) const { ggml_gallocr_free(galloc); }
};
using Gallocr = std::unique_ptr<ggml_gallocr, FreeGallocr>;

// x = custom(a), y = sqr(x) in place, z = custom(y, view of a)
struct Sample {
    explicit Sample(int64_t elements = 100) {
        a = m.leaf(elements);
        x = m.node(GGML_OP_CUSTOM, {a}, elements);
        y = m.node(GGML_OP_SQR, {x}, elements);
        shown = m.view(a, elements / 2, size_t(elements) / 4);
        z = m.node(GGML_OP_CUSTOM, {y, shown}, elements);
        graph = m.graph({z});
    }
    std::vector<ggml_tensor *> all() const { return {a, x, y, shown, z}; }

    GraphMaker m;
    ggml_tensor *a, *x, *y, *shown, *z;
    ggml_cgraph * graph;
};

TEST(gallocr, gives_every_tensor_an_aligned_address_in_a_compute_buffer) {
    TestBuffers buffers(64);
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample s;
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    for (ggml_tensor * t : s.all()) {
        ASSERT_NE(t->data, nullptr);
        ASSERT_NE(t->buffer, nullptr);
        EXPECT_EQ(t->buffer->usage, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
        EXPECT_TRUE(t->view_src != nullptr || reinterpret_cast<uintptr_t>(t->data) % 64 == 0);
    }
    EXPECT_EQ(s.y->data, s.x->data);
    EXPECT_EQ(s.shown->data, static_cast<char *>(s.a->data) + 25);
}

TEST(gallocr, reserved_and_reported_sizes_are_what_the_tensors_use) {
    TestBuffers buffers(32);
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample s;
    size_t size = 0;
    ggml_gallocr_reserve_n_size(galloc.get(), s.graph, nullptr, nullptr, &size);
    EXPECT_EQ(buffers.n_allocated, 0) << "asking for the size allocates nothing";
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), 0u);
    ASSERT_TRUE(ggml_gallocr_reserve(galloc.get(), s.graph));
    EXPECT_EQ(s.x->data, nullptr) << "reserving does not touch tensors";
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), size);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    const char *first = static_cast<char *>(s.a->data), *end = first;
    for (ggml_tensor * t : s.all()) {
        first = std::min(first, static_cast<const char *>(t->data));
        end = std::max(end, static_cast<const char *>(t->data) + ggml_nbytes(t));
    }
    EXPECT_EQ((size_t(end - first) + 31) / 32 * 32, size);
}

TEST(gallocr, allocation_sizes_come_from_the_buffer_type) {
    TestBuffers buffers(1);
    buffers.extra_bytes = 1000;
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample s;
    ASSERT_TRUE(ggml_gallocr_reserve(galloc.get(), s.graph));
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), 3300u);
}

TEST(gallocr, a_reserved_larger_graph_serves_smaller_ones_without_new_buffers) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    ASSERT_TRUE(ggml_gallocr_reserve(galloc.get(), Sample(400).graph));
    for (int64_t n : {400, 100, 4, 400}) {
        Sample s(n);
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
        EXPECT_NE(s.z->data, nullptr);
    }
    EXPECT_EQ(buffers.n_allocated, 1);
}

TEST(gallocr, plans_anew_for_another_graph_and_grows_when_it_must) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample small(64), large(4096);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), small.graph));
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), large.graph));
    EXPECT_EQ(buffers.n_allocated, 2);
    EXPECT_EQ(buffers.n_buffers, 1);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), 3u * 4096);
}

TEST(gallocr, the_same_graph_again_keeps_its_addresses) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample s;
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    std::vector<void *> before;
    for (ggml_tensor * t : s.all()) before.push_back(t->data);
    const int resets = buffers.n_resets;
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(s.all()[i]->data, before[i]);
    EXPECT_EQ(buffers.n_resets, resets) << "per-tensor state is still in use";
    Sample next;
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), next.graph));
    EXPECT_EQ(buffers.n_resets, resets + 1) << "one reset per fresh graph";
}

TEST(gallocr, storage_of_the_caller_is_left_alone) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample s;
    std::vector<char> memory(100);
    s.a->data = memory.data();
    s.shown->data = memory.data() + 25;
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    EXPECT_EQ(s.a->data, memory.data());
    EXPECT_EQ(s.a->buffer, nullptr);
    EXPECT_EQ(s.shown->data, memory.data() + 25);
    EXPECT_EQ(s.shown->buffer, nullptr);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), 2u * 128);
}

TEST(gallocr, an_unread_conversion_is_a_result_and_keeps_its_storage) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    GraphMaker m;
    ggml_tensor * a = m.leaf(100);
    ggml_tensor * cast = m.node(GGML_OP_CPY, {a}, 100); // owns its storage and names itself as destination
    cast->src[1] = cast;
    ggml_tensor * other = m.node(GGML_OP_CUSTOM, {a}, 100);
    ggml_tensor * last = m.node(GGML_OP_CUSTOM, {other}, 100);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), m.graph({cast, last})));
    EXPECT_NE(other->data, cast->data);
    EXPECT_NE(last->data, cast->data);
}

TEST(gallocr, skipped_tensors_get_no_storage_until_they_are_listed_no_more) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample first, second, third;
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), first.graph));
    ggml_tensor * skip[] = {second.x, second.y};
    ggml_gallocr_set_skipped_tensors(galloc.get(), skip, 2);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), second.graph));
    for (ggml_tensor * t : skip) {
        EXPECT_EQ(t->data, nullptr);
        EXPECT_EQ(t->buffer, nullptr);
    }
    EXPECT_NE(second.a->data, nullptr);
    EXPECT_NE(second.z->data, nullptr);
    EXPECT_NE(second.a->data, second.z->data) << "read where z is computed";
    ggml_gallocr_set_skipped_tensors(galloc.get(), nullptr, 0);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), third.graph));
    for (ggml_tensor * t : third.all()) EXPECT_NE(t->data, nullptr);
    EXPECT_EQ(buffers.n_buffers, 1);
}

TEST(gallocr, a_changed_skip_set_invalidates_the_plan_of_several_buffers) {
    TestBuffers one, two;
    ggml_backend_buffer_type_t types[] = {one, two};
    Gallocr galloc(ggml_gallocr_new_n(types, 2));
    Sample s, t;
    const std::vector<int> ids(8, 1);
    ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), s.graph, ids.data(), ids.data()));
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    ggml_gallocr_set_skipped_tensors(galloc.get(), &t.x, 1);
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), t.graph)) << "buffer ids are needed";
    ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), t.graph, ids.data(), ids.data()));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), t.graph));
    EXPECT_EQ(t.x->data, nullptr);
}

TEST(gallocr, nodes_go_to_the_buffer_named_for_them) {
    TestBuffers one(32), two(256);
    ggml_backend_buffer_type_t types[] = {one, two};
    Gallocr galloc(ggml_gallocr_new_n(types, 2));
    Sample s;
    // Order of nodes: x, y, shown, z.
    const int node_ids[] = {0, 1, 0, 1}, leaf_ids[] = {1};
    size_t sizes[2];
    ggml_gallocr_reserve_n_size(galloc.get(), s.graph, node_ids, leaf_ids, sizes);
    ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), s.graph, node_ids, leaf_ids));
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    EXPECT_EQ(s.x->buffer->buft, types[0]);
    for (ggml_tensor * t : {s.a, s.y, s.shown, s.z}) EXPECT_EQ(t->buffer->buft, types[1]);
    for (int b : {0, 1}) EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), b), sizes[b]);
    EXPECT_EQ(sizes[0], 128u);
    EXPECT_EQ(sizes[1], 3u * 256) << "y does not run in place over another buffer";
}

TEST(gallocr, equal_buffer_types_share_one_buffer) {
    TestBuffers one;
    ggml_backend_buffer_type_t types[] = {one, one};
    Gallocr galloc(ggml_gallocr_new_n(types, 2));
    Sample s;
    const int node_ids[] = {0, 1, 0, 1}, leaf_ids[] = {1};
    size_t sizes[2];
    ggml_gallocr_reserve_n_size(galloc.get(), s.graph, node_ids, leaf_ids, sizes);
    ASSERT_TRUE(ggml_gallocr_reserve_n(galloc.get(), s.graph, node_ids, leaf_ids));
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    EXPECT_EQ(one.n_allocated, 1);
    EXPECT_EQ(s.x->data, s.y->data);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), sizes[0]);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 1), 0u);
    EXPECT_EQ(sizes[1], 0u);
}

TEST(gallocr, without_buffer_ids_several_buffers_are_not_planned_again) {
    TestBuffers one, two;
    ggml_backend_buffer_type_t types[] = {one, two};
    Gallocr galloc(ggml_gallocr_new_n(types, 2));
    Sample s;
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    EXPECT_EQ(s.z->data, nullptr);
}

TEST(gallocr, splits_memory_by_the_largest_buffer_of_the_type) {
    TestBuffers buffers(32, 256);
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample s(200); // each rounds to 224
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
    EXPECT_EQ(buffers.n_buffers, 3);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), 3u * 224);
    EXPECT_NE(s.a->buffer, s.x->buffer);
    EXPECT_EQ(s.shown->buffer, s.a->buffer);
}

TEST(gallocr, missing_memory_is_false_and_leaves_no_address_behind) {
    TestBuffers buffers(32, 256);
    buffers.budget = 500; // two of three chunks
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample s(200);
    {
        LogCapture log;
        EXPECT_FALSE(ggml_gallocr_reserve(galloc.get(), s.graph));
        EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
        EXPECT_NE(log.text.find("no memory for a test buffer of 224 bytes"), std::string::npos);
    }
    EXPECT_EQ(buffers.n_buffers, 0);
    for (ggml_tensor * t : s.all()) EXPECT_EQ(t->data, nullptr);
    EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc.get(), 0), 0u);
    buffers.budget = 10000;
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
}

TEST(gallocr, failing_growth_forgets_the_old_plan) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    Sample small(32), large(5000), again(32);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), small.graph));
    buffers.budget = 200;
    LogCapture log;
    EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), large.graph));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), again.graph));
    EXPECT_EQ(buffers.n_buffers, 1);
}

TEST(gallocr, a_tensor_the_backend_cannot_set_up_fails_and_takes_everything_back) {
    for (int failing = 0; failing < 5; ++failing) {
        TestBuffers buffers;
        buffers.failing_init = failing;
        Gallocr galloc(ggml_gallocr_new(buffers));
        Sample s;
        LogCapture log;
        EXPECT_FALSE(ggml_gallocr_alloc_graph(galloc.get(), s.graph));
        EXPECT_NE(log.text.find("could not set up"), std::string::npos);
        for (ggml_tensor * t : s.all()) {
            EXPECT_EQ(t->data, nullptr) << failing;
            EXPECT_EQ(t->buffer, nullptr) << failing;
        }
        EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), s.graph)) << "the next attempt succeeds";
    }
}

TEST(gallocr, an_empty_graph_needs_nothing) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    GraphMaker m;
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), m.graph({})));
    EXPECT_EQ(buffers.n_allocated, 0);
}

TEST(gallocr, a_graph_of_empty_tensors_gets_addresses) {
    TestBuffers buffers;
    Gallocr galloc(ggml_gallocr_new(buffers));
    GraphMaker m;
    ggml_tensor * a = m.leaf(0);
    ggml_tensor * shown = m.view(a, 0);
    ggml_tensor * x = m.node(GGML_OP_SQR, {shown}, 0);
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc.get(), m.graph({x})));
    for (ggml_tensor * t : {a, shown, x}) EXPECT_NE(t->data, nullptr);
}

TEST(gallocr, freeing_frees_the_buffers_and_null_is_allowed) {
    TestBuffers buffers;
    {
        Gallocr galloc(ggml_gallocr_new(buffers));
        ASSERT_TRUE(ggml_gallocr_reserve(galloc.get(), Sample().graph));
        EXPECT_EQ(buffers.n_buffers, 1);
    }
    EXPECT_EQ(buffers.n_buffers, 0);
    ggml_gallocr_free(nullptr);
}

} // namespace
} // namespace ggml::test
