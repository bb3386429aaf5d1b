// A program of its own, because it counts allocations everywhere.
#include "ggml-alloc.h"

#include "tests/runtime/alloc/byte_interpreter.h"
#include "tests/runtime/alloc/heap_counter.h"
#include "tests/runtime/alloc/test_buffers.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

TEST(gallocr, allocates_no_heap_memory_for_a_graph_that_fits_its_plan) {
    TestBuffers buffers;
    ggml_gallocr_t galloc = ggml_gallocr_new(buffers);
    ByteGraph first(1, {}), second(1, {});
    ASSERT_TRUE(ggml_gallocr_alloc_graph(galloc, first.graph()));
    const size_t before = heap_allocations();
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc, first.graph()));
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc, second.graph()));
    EXPECT_EQ(heap_allocations(), before);
    ByteGraph other(2, {});
    const size_t before_other = heap_allocations();
    EXPECT_TRUE(ggml_gallocr_alloc_graph(galloc, other.graph()));
    EXPECT_GT(heap_allocations(), before_other) << "the count works: this one was planned";
    ggml_gallocr_free(galloc);
}

} // namespace
} // namespace ggml::test
