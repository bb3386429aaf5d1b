// Layers with a codebook.
#include "ops/linear_w4/test_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace sd::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

TEST(linear_w4_book, reads_indices_the_even_column_in_the_low_nibble) {
    // One activation code at a time: what comes back is one level after the other, times its group's scale.
    Inputs in;
    ggml_tensor *w = in.tensor(GGML_TYPE_I8, {16, 1, 1, 1}), *x = in.tensor(GGML_TYPE_F32, {32, 32, 1, 1});
    for (int i = 0; i < 16; ++i)
        static_cast<uint8_t *>(w->data)[i] = uint8_t(2 * i % 16 | (2 * i % 16 + 1) << 4); // column k: k % 16
    for (int64_t k = 0; k < 32; ++k) at(x, k, k) = 127.0f;
    ggml_tensor *book = in.floats({16, 1, 1, 1}), *relative = in.tensor(GGML_TYPE_I8, {2, 1, 1, 1}),
                *channel = in.floats({1, 1, 1, 1}, Rows::contiguous, 0.5f, 0.5f);
    static_cast<uint8_t *>(relative->data)[0] = 0x40; // 2
    static_cast<uint8_t *>(relative->data)[1] = 0xbc; // -1.5
    const std::vector<float> y =
        run([&](ggml_context * ctx) {
            return ggml_mul_mat_w4_convrot(ctx, w, x, nullptr, book, channel, relative, nullptr, 1);
        }).floats();
    ASSERT_EQ(y.size(), 32u);
    for (int k = 0; k < 32; ++k) {
        const float expected = 127.0f * 0.5f * (k < 16 ? 2.0f : -1.5f) * at(book, k % 16);
        EXPECT_NEAR(y[size_t(k)], expected, 1e-4) << k;
    }
}

TEST(linear_w4_book, layers_of_all_sizes_are_within_the_room_for_rounding) {
    for (const int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 33}) {
        for (const int64_t n : {1, 3, 17, 33, 64, 100}) {
            for (const int64_t k : {16, 32, 48, 128, 272, 1040}) {
                BookLayer layer({k, n}, uint32_t(m * 7 + n * 3 + k));
                if ((m + n + k / 16) % 3 == 0) layer.bias = nullptr;
                layer.check(layer.in.floats({k, m, 1, 1}), 16,
                            std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
            }
        }
    }
    for (const int64_t m : {1, 40}) {
        BookLayer layer({4096, 70});
        layer.check(layer.in.floats({4096, m, 1, 1}), 256, "long rows");
    }
}

TEST(linear_w4_book, layers_take_f32_activations_of_any_rows_and_groups) {
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        for (const int group : {1, 4, 16, 64, 256}) {
            BookLayer layer({256, 19}, uint32_t(group + 1));
            layer.check(layer.in.floats({256, 5, 3, 2}, rows), group, "group " + std::to_string(group));
        }
    }
    BookLayer layer({4096, 7});
    for (const int group : {1024, 4096}) layer.check(layer.in.floats({4096, 3, 1, 1}), group, "large group");
}

TEST(linear_w4_book, rows_of_many_blocks_give_the_same_as_in_one) {
    BookLayer layer({16384, 6}); // blocks of 16 MiB of floats
    ggml_tensor * x = layer.in.floats({16384, 300, 1, 1});
    layer.check(x, 256, "blocks");
    const std::vector<float> all = run(layer.build(x, 256)).floats();
    // As many as are multiplied in the same way.
    ggml_tensor * last = layer.in.tensor(GGML_TYPE_F32, {16384, 24, 1, 1});
    std::memcpy(last->data, static_cast<char *>(x->data) + 276 * x->nb[1], ggml_nbytes(last));
    const std::vector<float> some = run(layer.build(last, 256)).floats();
    ASSERT_EQ(all.size(), 300u * 6u);
    ASSERT_EQ(some.size(), 24u * 6u);
    for (size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i], all[276 * 6 + i]);
}

TEST(linear_w4_book, shares_packed_activations_with_int8_layers) {
    for (const int64_t rows : {3, 20}) {
        BookLayer layer({64, 33}, uint32_t(rows));
        ggml_tensor *x = layer.in.floats({64, rows, 2, 1}), *w8 = layer.in.bytes({64, 33, 1, 1});
        const auto with = [&](bool packed) {
            return [&, packed](ggml_context * ctx) {
                ggml_tensor * q = packed ? ggml_quantize_i8_convrot(ctx, x, 16) : x;
                return ggml_add(
                    ctx, ggml_mul_mat_i8_tensorwise(ctx, w8, q, layer.channel, layer.bias, 16, nullptr),
                    layer.build(q, 16)(ctx));
            };
        };
        for (const std::string & name : usable_kernel_names()) {
            const RunOptions options = {.n_threads = 2, .disabled = all_but(all_kernel_names(), name)};
            expect_same_floats(run(with(true), options), run(with(false), options), name);
        }
    }
}

TEST(linear_w4_book, zero_rows_give_the_bias) {
    BookLayer layer({64, 20});
    ggml_tensor * x = layer.in.floats({64, 24, 1, 1});
    for (int64_t k = 0; k < 64; ++k) at(x, k, 3) = at(x, k, 23) = 0.0f;
    layer.check(x, 64, "zero rows");
    const std::vector<float> y = run(layer.build(x, 64)).floats();
    ASSERT_EQ(y.size(), 24u * 20u);
    for (int n = 0; n < 20; ++n) {
        EXPECT_EQ(y[size_t(3 * 20 + n)], at(layer.bias, n));
        EXPECT_EQ(y[size_t(23 * 20 + n)], at(layer.bias, n));
    }
}

TEST(linear_w4_book, takes_outliers_tiny_and_huge_rows) {
    for (const int64_t rows : {6, 21}) {
        BookLayer layer({64, 20});
        ggml_tensor * x = layer.in.floats({64, rows, 1, 1});
        at(x, 7, 0) = at(x, 11, 5) = 1e4f;
        for (int64_t k = 0; k < 64; ++k) {
            at(x, k, 1) *= 1e-40f;
            at(x, k, 2) *= 1e-34f;
            at(x, k, 3) *= 1e30f;
        }
        layer.check(x, 16, "extremes");
    }
}

TEST(linear_w4_book, rows_that_are_not_finite_disturb_no_other) {
    for (const int64_t rows : {6, 40}) {
        BookLayer layer({256, 40});
        ggml_tensor * x = layer.in.floats({256, rows, 1, 1});
        const std::vector<float> clean = run(layer.build(x, 256)).floats();
        at(x, 17, 1) = kNan;
        at(x, 0, 2) = kInf;
        at(x, 255, 4) = -kInf;
        layer.check(x, 256, "not finite");
        const std::vector<float> y = run(layer.build(x, 256)).floats();
        ASSERT_EQ(y.size(), clean.size());
        for (size_t i = 0; i < y.size(); ++i) {
            const size_t row = i / 40;
            if (row == 1 || row == 2 || row == 4)
                EXPECT_TRUE(std::isnan(y[i])) << i;
            else
                EXPECT_EQ(y[i], clean[i]) << i;
        }
    }
}

TEST(linear_w4_book, a_relative_scale_that_is_nan_makes_its_weight_row_nan_and_no_other) {
    for (const int64_t rows : {6, 40}) {
        BookLayer layer({256, 40});
        ggml_tensor * x = layer.in.floats({256, rows, 1, 1});
        for (const std::string & name : usable_kernel_names()) {
            const RunOptions options = {.n_threads = 2, .disabled = all_but(all_kernel_names(), name)};
            const std::vector<float> clean = run(layer.build(x, 256), options).floats();
            auto * relative = static_cast<uint8_t *>(layer.relative->data);
            const uint8_t was[2] = {relative[5 * 16 + 3], relative[39 * 16]};
            relative[5 * 16 + 3] = 0x7f;
            relative[39 * 16] = 0xff;
            const std::vector<float> y = run(layer.build(x, 256), options).floats();
            relative[5 * 16 + 3] = was[0];
            relative[39 * 16] = was[1];
            ASSERT_EQ(y.size(), clean.size());
            for (size_t i = 0; i < y.size(); ++i) {
                if (i % 40 == 5 || i % 40 == 39)
                    EXPECT_TRUE(std::isnan(y[i])) << name << ", " << i;
                else
                    EXPECT_EQ(y[i], clean[i]) << name << ", " << i;
            }
        }
    }
}

TEST(linear_w4_book, of_no_rows_is_nothing) {
    BookLayer layer({16, 4});
    const Outcome got = run(layer.build(layer.in.floats({16, 0, 2, 1}), 4));
    EXPECT_EQ(got.status, GGML_STATUS_SUCCESS);
    EXPECT_EQ(got.ne, (Sizes{4, 0, 2, 1}));
    EXPECT_TRUE(got.bytes.empty());
}

TEST(linear_w4_book, may_write_over_its_inputs) {
    for (const int64_t rows : {10, 14}) { // dot products, tiles
        BookLayer layer({160, 64}, uint32_t(rows));
        ggml_tensor * x = layer.in.floats({160, rows, 1, 1});
        const Outcome apart = run(layer.build(x, 16));
        RunOptions options;
        options.result_in = layer.w;
        options.n_threads = 2;
        expect_same_floats(run(layer.build(x, 16), options), apart, "over the weight");
    }
}

// Returns true from its n-th call on.
struct Countdown {
    int calls = 0, limit = 0;
};

TEST(linear_w4_book, stops_between_phases_when_the_caller_says_so) {
    static Countdown countdown; // the callback of a run has no data of its own
    const ggml_abort_callback abort = [](void *) { return ++countdown.calls > countdown.limit; };
    for (const int64_t rows : {3, 20}) {
        BookLayer layer({256, 8});
        ggml_tensor * x = layer.in.floats({256, rows, 1, 1});
        countdown = {0, std::numeric_limits<int>::max()};
        EXPECT_EQ(run(layer.build(x, 16), {.abort = abort}).status, GGML_STATUS_SUCCESS);
        const int calls = countdown.calls;
        EXPECT_GE(calls, 4) << "before and after each phase";
        for (int n = 0; n < calls; ++n) {
            countdown = {0, n};
            EXPECT_EQ(run(layer.build(x, 16), {.abort = abort}).status, GGML_STATUS_ABORTED) << n;
        }
    }
}

} // namespace
} // namespace sd::test
