// Random graphs give the same results in reused, poisoned memory as with storage of their own for each
// tensor.
#include "ggml-alloc.h"

#include "runtime/graph/graph.h"
#include "tests/runtime/alloc/byte_interpreter.h"
#include "tests/runtime/alloc/test_buffers.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ggml::test {
namespace {

constexpr uint32_t kGraphs = 300;

std::vector<uint64_t> expected(uint32_t seed, const ByteGraphOptions & options) {
    ByteGraph reference(seed, options);
    reference.give_separate_storage();
    reference.fill_leafs();
    return reference.run();
}

size_t separate_bytes(const ggml_cgraph * g) {
    size_t bytes = 0;
    for (int i = 0; i < g->n_nodes; ++i)
        bytes += g->nodes[i]->view_src == nullptr ? ggml_nbytes(g->nodes[i]) : 0;
    return bytes;
}

TEST(random_graphs, in_one_buffer) {
    size_t used = 0, separate = 0;
    for (uint32_t seed = 0; seed < kGraphs; ++seed) {
        TestBuffers buffers(8);
        ggml_gallocr_t galloc = ggml_gallocr_new(buffers);
        ByteGraph g(seed, {});
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc, g.graph()));
        g.fill_leafs();
        EXPECT_EQ(g.run(), expected(seed, {})) << "seed " << seed;
        used += ggml_gallocr_get_buffer_size(galloc, 0);
        separate += separate_bytes(g.graph());
        ggml_gallocr_free(galloc);
    }
    EXPECT_LT(used, separate) << "reuse happens";
}

TEST(random_graphs, in_chunks_of_limited_size) {
    for (uint32_t seed = 0; seed < kGraphs; ++seed) {
        TestBuffers buffers(16, 512);
        ggml_gallocr_t galloc = ggml_gallocr_new(buffers);
        ByteGraph g(seed, {});
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc, g.graph()));
        EXPECT_GT(buffers.n_buffers, 1);
        g.fill_leafs();
        EXPECT_EQ(g.run(), expected(seed, {})) << "seed " << seed;
        ggml_gallocr_free(galloc);
    }
}

TEST(random_graphs, in_several_buffers) {
    for (uint32_t seed = 0; seed < kGraphs; ++seed) {
        TestBuffers one(8), two(32), three(8, 256);
        ggml_backend_buffer_type_t types[] = {one, two, three, one};
        ggml_gallocr_t galloc = ggml_gallocr_new_n(types, 4);
        ByteGraph g(seed, {});
        std::mt19937 random(seed);
        std::vector<int> node_ids, leaf_ids;
        for (int i = 0; i < g.graph()->n_nodes; ++i) node_ids.push_back(int(random() % 4));
        for (int i = 0; i < g.graph()->n_leafs; ++i) leaf_ids.push_back(int(random() % 4));
        size_t sizes[4];
        ggml_gallocr_reserve_n_size(galloc, g.graph(), node_ids.data(), leaf_ids.data(), sizes);
        ASSERT_TRUE(ggml_gallocr_reserve_n(galloc, g.graph(), node_ids.data(), leaf_ids.data()));
        for (int b = 0; b < 4; ++b) EXPECT_EQ(ggml_gallocr_get_buffer_size(galloc, b), sizes[b]);
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc, g.graph()));
        g.fill_leafs();
        EXPECT_EQ(g.run(), expected(seed, {})) << "seed " << seed;
        ggml_gallocr_free(galloc);
    }
}

TEST(random_graphs, with_skipped_nodes_computed_by_their_readers) {
    ByteGraphOptions options;
    options.writers = false;
    options.skips = true;
    size_t n_skipped = 0;
    for (uint32_t seed = 0; seed < kGraphs; ++seed) {
        TestBuffers buffers(8);
        ggml_gallocr_t galloc = ggml_gallocr_new(buffers);
        ByteGraph g(seed, options);
        n_skipped += g.skipped().size();
        ggml_gallocr_set_skipped_tensors(galloc, g.skipped().data(), g.skipped().size());
        ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc, g.graph()));
        for (ggml_tensor * t : g.skipped()) EXPECT_EQ(t->data, nullptr);
        g.fill_leafs();
        EXPECT_EQ(g.run(), expected(seed, options)) << "seed " << seed;
        ggml_gallocr_free(galloc);
    }
    EXPECT_GT(n_skipped, kGraphs);
}

TEST(random_graphs, one_after_another_from_the_same_allocator) {
    TestBuffers buffers(8);
    ggml_gallocr_t galloc = ggml_gallocr_new(buffers);
    for (uint32_t seed = 0; seed < kGraphs; ++seed) {
        for (int repeat = 0; repeat < 2; ++repeat) { // the second time the plan is still there
            ByteGraph g(seed, {});
            ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc, g.graph()));
            g.fill_leafs();
            EXPECT_EQ(g.run(), expected(seed, {})) << "seed " << seed;
        }
    }
    ggml_gallocr_free(galloc);
}

} // namespace
} // namespace ggml::test
