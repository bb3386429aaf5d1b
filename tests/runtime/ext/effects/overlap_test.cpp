#include "ggml-backend.h"
#include "ggml-ext.h"
#include "runtime/ext/effects/effects.h"
#include "runtime/tensor/context.h"
#include "tests/support/test_device.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace ggml::ext {
namespace {

constexpr auto kNone = GGML_EXT_OVERLAP_NONE;
constexpr auto kExact = GGML_EXT_OVERLAP_EXACT;
constexpr auto kPartial = GGML_EXT_OVERLAP_PARTIAL;

class Arena {
  public:
    explicit Arena(bool no_alloc = true) : ctx_(ggml_init({1u << 20, nullptr, no_alloc})) {}
    ~Arena() { ggml_free(ctx_); }
    Arena(const Arena &) = delete;
    Arena & operator=(const Arena &) = delete;
    operator ggml_context *() { return ctx_; }

    ggml_tensor * matrix(int64_t ne0, int64_t ne1, ggml_type type = GGML_TYPE_F32) {
        return ggml_new_tensor_2d(ctx_, type, ne0, ne1);
    }

  private:
    ggml_context * ctx_;
};

// The answer does not depend on which tensor is named first, nor on the road it is asked by.
ggml_ext_overlap both_ways(const ggml_tensor * a, const ggml_tensor * b) {
    EXPECT_EQ(overlap(a, b), overlap(b, a)) << a->name << ", " << b->name;
    EXPECT_EQ(ggml_ext_tensor_overlap(a, b), overlap(a, b));
    return overlap(a, b);
}

TEST(ext_overlap, separate_owners_without_storage_never_overlap) {
    Arena ctx;
    ggml_tensor *a = ctx.matrix(8, 8), *b = ctx.matrix(8, 8);
    EXPECT_EQ(both_ways(a, b), kNone);
    EXPECT_EQ(both_ways(ggml_view_tensor(ctx, a), ggml_view_tensor(ctx, b)), kNone);
}

TEST(ext_overlap, is_exact_for_the_same_start_type_shape_and_strides) {
    Arena ctx;
    ggml_tensor * a = ctx.matrix(8, 8);
    EXPECT_EQ(both_ways(a, a), kExact);
    EXPECT_EQ(both_ways(a, ggml_view_tensor(ctx, a)), kExact);
    EXPECT_EQ(both_ways(a, ggml_scale_inplace(ctx, a, 2.0f)), kExact);
    EXPECT_EQ(both_ways(a, ggml_reshape_2d(ctx, a, 16, 4)), kPartial) << "another shape";
    EXPECT_EQ(both_ways(a, ggml_transpose(ctx, a)), kPartial) << "another order";
    ggml_tensor * whole_numbers = ggml_view_tensor(ctx, a);
    whole_numbers->type = GGML_TYPE_I32;
    EXPECT_EQ(both_ways(a, whole_numbers), kPartial) << "another type";
}

TEST(ext_overlap, adds_up_the_offsets_of_views_of_views) {
    Arena ctx;
    ggml_tensor * a = ctx.matrix(8, 8);
    ggml_tensor * lower = ggml_view_2d(ctx, a, 8, 4, a->nb[1], 4 * a->nb[1]);
    ggml_tensor * last = ggml_view_2d(ctx, lower, 8, 1, a->nb[1], 3 * a->nb[1]);
    EXPECT_EQ(both_ways(last, ggml_view_2d(ctx, a, 8, 1, a->nb[1], 7 * a->nb[1])), kExact);
    EXPECT_EQ(both_ways(last, ggml_view_2d(ctx, a, 8, 7, a->nb[1], 0)), kNone);

    // A chain that a program linked itself, without flattening it onto the owner.
    ggml_tensor * linked = ctx.matrix(8, 1);
    linked->view_src = lower;
    linked->view_offs = 3 * a->nb[1];
    EXPECT_EQ(storage_owner(linked), a);
    EXPECT_EQ(both_ways(linked, last), kExact);
}

TEST(ext_overlap, tells_halves_of_columns_apart) {
    Arena ctx;
    ggml_tensor * a = ctx.matrix(8, 8);
    const auto columns = [&](int64_t first, int64_t n) {
        return ggml_view_2d(ctx, a, n, 8, a->nb[1], size_t(first) * a->nb[0]);
    };
    EXPECT_EQ(both_ways(columns(0, 4), columns(4, 4)), kNone);
    EXPECT_EQ(both_ways(columns(0, 5), columns(4, 4)), kPartial);
    EXPECT_EQ(both_ways(columns(3, 1), columns(4, 4)), kNone);
    EXPECT_EQ(both_ways(columns(0, 4), ggml_transpose(ctx, columns(4, 4))), kNone);
    EXPECT_EQ(both_ways(columns(0, 4), ggml_view_2d(ctx, a, 4, 2, a->nb[1], 3 * a->nb[1] + 16)), kNone)
        << "some rows of the right half";
}

TEST(ext_overlap, tells_interleaved_rows_apart) {
    Arena ctx;
    ggml_tensor * a = ctx.matrix(8, 8);
    ggml_tensor * even = ggml_view_2d(ctx, a, 8, 4, 2 * a->nb[1], 0);
    ggml_tensor * odd = ggml_view_2d(ctx, a, 8, 4, 2 * a->nb[1], a->nb[1]);
    EXPECT_EQ(both_ways(even, odd), kNone);
    EXPECT_EQ(both_ways(even, ggml_view_2d(ctx, a, 8, 2, a->nb[1], a->nb[1])), kPartial);
}

TEST(ext_overlap, understands_permuted_and_broadcast_strides) {
    Arena ctx;
    ggml_tensor * a = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 4, 3, 6);
    ggml_tensor * front = ggml_permute(ctx, ggml_view_3d(ctx, a, 4, 3, 2, a->nb[1], a->nb[2], 0), 2, 0, 1, 3);
    ggml_tensor * back = ggml_view_3d(ctx, a, 4, 3, 4, a->nb[1], a->nb[2], 2 * a->nb[2]);
    EXPECT_EQ(both_ways(front, back), kNone);
    EXPECT_EQ(both_ways(front, a), kPartial);
    ggml_tensor * repeated = ggml_view_2d(ctx, a, 4, 12, 0, a->nb[1]); // the second row, 12 times
    EXPECT_EQ(both_ways(repeated, ggml_view_2d(ctx, a, 4, 1, a->nb[1], 0)), kNone);
    EXPECT_EQ(both_ways(repeated, ggml_view_2d(ctx, a, 4, 2, a->nb[1], 0)), kPartial);
}

TEST(ext_overlap, counts_blocks_of_quantized_types) {
    Arena ctx;
    ggml_tensor * a = ctx.matrix(64, 4, GGML_TYPE_Q8_0);
    ggml_tensor * left = ggml_view_2d(ctx, a, 32, 4, a->nb[1], 0);
    ggml_tensor * right = ggml_view_2d(ctx, a, 32, 4, a->nb[1], a->nb[0]);
    EXPECT_EQ(both_ways(left, right), kNone);
    EXPECT_EQ(both_ways(left, a), kPartial);
}

TEST(ext_overlap, empty_tensors_overlap_nothing) {
    Arena ctx;
    ggml_tensor * a = ctx.matrix(8, 8);
    ggml_tensor * empty = ggml_view_2d(ctx, a, 8, 0, a->nb[1], 0);
    EXPECT_EQ(both_ways(empty, a), kNone);
    EXPECT_EQ(both_ways(empty, empty), kNone);
    EXPECT_EQ(ggml_ext_tensor_overlap(nullptr, a), kNone);
}

TEST(ext_overlap, strides_that_overflow_prove_nothing) {
    Arena ctx;
    ggml_tensor * a = ctx.matrix(8, 8);
    ggml_tensor * b = ggml_view_2d(ctx, a, 4, 8, a->nb[1], 16);
    ggml_tensor * left = ggml_view_2d(ctx, a, 4, 8, a->nb[1], 0);
    EXPECT_EQ(both_ways(left, b), kNone);
    left->nb[2] = SIZE_MAX / 2;
    left->ne[2] = 8;
    EXPECT_EQ(both_ways(left, b), kPartial);
}

TEST(ext_overlap, compares_addresses_where_storage_was_given) {
    Arena ctx(false);
    ggml_tensor *a = ctx.matrix(8, 8), *b = ctx.matrix(8, 8);
    EXPECT_EQ(both_ways(a, b), kNone);
    b->data = static_cast<char *>(a->data) + a->nb[1];
    EXPECT_EQ(both_ways(a, b), kPartial);
    b->data = a->data;
    EXPECT_EQ(both_ways(a, b), kExact);

    Arena unplaced;
    EXPECT_EQ(both_ways(a, unplaced.matrix(8, 8)), kNone) << "storage that is still to be given is new";
}

TEST(ext_overlap, knows_views_that_have_no_address_yet) {
    Arena ctx;
    ggml_tensor *a = ctx.matrix(8, 8), *b = ctx.matrix(8, 8);
    ggml_tensor * view = ggml_view_2d(ctx, a, 8, 4, a->nb[1], 4 * a->nb[1]);
    std::vector<float> memory(128);
    a->data = memory.data();
    b->data = memory.data() + 32;
    ASSERT_EQ(view->data, nullptr);
    EXPECT_EQ(both_ways(view, b), kPartial);
    b->data = memory.data() + 64;
    EXPECT_EQ(both_ways(view, b), kNone);
}

TEST(ext_overlap, host_buffers_share_one_address_range) {
    Arena ctx;
    alignas(64) float memory[256];
    ggml_backend_buffer_t one = ggml_backend_cpu_buffer_from_ptr(memory, 1024);
    ggml_backend_buffer_t two = ggml_backend_cpu_buffer_from_ptr(memory, 1024);
    ggml_tensor *a = ctx.matrix(8, 8), *b = ctx.matrix(8, 8), *c = ctx.matrix(8, 8);
    ASSERT_EQ(ggml_backend_tensor_alloc(one, a, memory), GGML_STATUS_SUCCESS);
    ASSERT_EQ(ggml_backend_tensor_alloc(two, b, memory), GGML_STATUS_SUCCESS);
    ASSERT_EQ(ggml_backend_tensor_alloc(two, c, memory + 64), GGML_STATUS_SUCCESS);
    EXPECT_EQ(both_ways(a, b), kExact);
    EXPECT_EQ(both_ways(a, c), kNone);
    ggml_tensor * bare = ctx.matrix(8, 8);
    bare->data = memory + 32;
    EXPECT_EQ(both_ways(a, bare), kPartial) << "memory without a buffer is the host's";
    ggml_backend_buffer_free(one);
    ggml_backend_buffer_free(two);
}

TEST(ext_overlap, equal_addresses_in_different_device_buffers_are_different_bytes) {
    Arena ctx;
    test::TestDevice device;
    ggml_backend_buffer_t one = ggml_backend_buft_alloc_buffer(device.buffer_type(), 4096);
    ggml_backend_buffer_t two = ggml_backend_buft_alloc_buffer(device.buffer_type(), 4096);
    char * base = static_cast<char *>(ggml_backend_buffer_get_base(one));
    ggml_tensor *a = ctx.matrix(8, 8), *b = ctx.matrix(8, 8), *c = ctx.matrix(8, 8);
    a->buffer = c->buffer = one;
    b->buffer = two;
    a->data = b->data = base;
    c->data = base + 128;
    EXPECT_EQ(both_ways(a, b), kNone);
    EXPECT_EQ(both_ways(a, c), kPartial);
    ggml_tensor * host = ctx.matrix(8, 8);
    host->data = base;
    EXPECT_EQ(both_ways(a, host), kNone) << "an address of the host is none of the device";
    ggml_backend_buffer_free(one);
    ggml_backend_buffer_free(two);
}

std::vector<bool> bytes_of(const ggml_tensor * t, size_t size) {
    std::vector<bool> used(size, false);
    for (int64_t i3 = 0; i3 < t->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < t->ne[2]; ++i2)
            for (int64_t i1 = 0; i1 < t->ne[1]; ++i1)
                for (int64_t i0 = 0; i0 < t->ne[0]; ++i0) {
                    const size_t at = t->view_offs + size_t(i0) * t->nb[0] + size_t(i1) * t->nb[1] +
                                      size_t(i2) * t->nb[2] + size_t(i3) * t->nb[3];
                    for (size_t k = 0; k < ggml_type_size(t->type); ++k) used[at + k] = true;
                }
    return used;
}

TEST(ext_overlap, never_calls_tensors_apart_that_share_a_byte) {
    std::mt19937 random(7);
    constexpr size_t kBytes = 4096;
    Arena ctx;
    ggml_tensor * owner = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, kBytes);
    ggml_tensor * pair[2] = {ctx.matrix(1, 1), ctx.matrix(1, 1)};
    int apart = 0, proved = 0, shared = 0;
    for (int round = 0; round < 30000; ++round) {
        const size_t common[] = {4, 8, 16, 32, 64, 0, 12, 48};
        for (ggml_tensor * t : pair) {
            t->type = random() % 2 == 0 ? GGML_TYPE_F32 : GGML_TYPE_F16;
            for (int i = 0; i < GGML_MAX_DIMS; ++i) {
                t->ne[i] = int64_t(random() % 5);
                if (t->ne[i] == 0) t->ne[i] = 1;
                t->nb[i] = common[random() % 8];
            }
            t->view_src = owner;
            t->view_offs = random() % 40 * 2;
        }
        const std::vector<bool> a = bytes_of(pair[0], kBytes), b = bytes_of(pair[1], kBytes);
        bool meet = false;
        for (size_t i = 0; i < kBytes; ++i) meet = meet || (a[i] && b[i]);
        const ggml_ext_overlap answer = both_ways(pair[0], pair[1]);
        if (meet) {
            ASSERT_NE(answer, kNone) << "round " << round;
            ++shared;
        } else {
            ASSERT_NE(answer, kExact) << "round " << round;
            ++apart;
            proved += answer == kNone;
        }
    }
    EXPECT_GT(shared, 1000);
    EXPECT_GT(proved, 500) << "of " << apart << " pairs without a common byte";
}

} // namespace
} // namespace ggml::ext
