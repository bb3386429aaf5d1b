#include "ops/linear_i8/schema.h"

#include "ops/common/test_graph.h"
#include "ops/linear_i8/test_layer.h"
#include "sd-ggml-ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace sd::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

TEST(linear_i8, rotates_activations_by_the_regular_hadamard_matrix) {
    // A single weight picks one rotated activation: x = (2, 0, 0, 0) rotates to (1, 1, 1, -1).
    Inputs in;
    ggml_tensor *w = in.tensor(GGML_TYPE_I8, {4, 4, 1, 1}), *x = in.tensor(GGML_TYPE_F32, {4, 1, 1, 1});
    ggml_tensor * scale = in.floats({4, 1, 1, 1}, Rows::contiguous, 1.0f / 127, 1.0f / 127);
    for (int n = 0; n < 4; ++n) static_cast<int8_t *>(w->data)[5 * n] = 127;
    at(x, 0) = 2.0f;
    const Outcome got =
        run([&](ggml_context * ctx) { return ggml_mul_mat_i8_tensorwise(ctx, w, x, scale, nullptr, 4); });
    const std::vector<float> y = got.floats();
    ASSERT_EQ(y.size(), 4u);
    for (int n = 0; n < 4; ++n) EXPECT_NEAR(y[size_t(n)], n == 3 ? -1.0f : 1.0f, 1e-6f);
}

TEST(linear_i8, multiplies_the_sum_by_the_row_scale_first_and_adds_the_bias_last) {
    // Products that round differently in any other order.
    Inputs in;
    ggml_tensor *w = in.tensor(GGML_TYPE_I8, {1041, 1, 1, 1}), *x = in.tensor(GGML_TYPE_I8, {1041, 1, 1, 1});
    std::memset(w->data, 127, 1041);
    std::memset(x->data, 127, 1041);
    static_cast<int8_t *>(x->data)[1040] = 1;
    static_cast<int8_t *>(w->data)[1040] = 57; // 1040 * 16129 + 57
    ggml_tensor *xs = in.floats({1, 1, 1, 1}, Rows::contiguous, 0.3f, 0.3f),
                *ws = in.floats({1, 1, 1, 1}, Rows::contiguous, 0.7f, 0.7f), *b = in.floats({1, 1, 1, 1});
    const Outcome got =
        run([&](ggml_context * ctx) { return ggml_mul_mat_i8_tensorwise(ctx, w, x, ws, b, 0, xs); });
    volatile float y = 16774217.0f;
    y = y * at(xs, 0);
    y = y * at(ws, 0);
    y = y + at(b, 0);
    ASSERT_EQ(got.floats().size(), 1u);
    EXPECT_EQ(got.floats()[0], y);
}

TEST(linear_i8, takes_f32_activations_of_any_rows) {
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        for (const int group : {0, 1, 4, 16, 64, 256}) {
            Layer layer({256, 19}, uint32_t(group + 1));
            ggml_tensor * x = layer.in.floats({256, 5, 3, 2}, rows);
            layer.check(x, group, "group " + std::to_string(group));
        }
    }
    Layer layer({4096, 7});
    for (const int group : {1024, 4096}) layer.check(layer.in.floats({4096, 3, 1, 1}), group, "large group");
    Layer narrow({3, 5});
    narrow.check(narrow.in.floats({3, 40, 1, 1}), 1, "three features");
}

TEST(linear_i8, gives_packed_activations_the_result_of_their_f32_rows) {
    for (const int64_t rows : {1, 3, 4, 18, 65}) {
        Layer layer({64, 33}, uint32_t(rows));
        ggml_tensor * x = layer.in.floats({64, rows, 2, 1});
        const Outcome expected = reference(layer.build(x, 16), linear_i8_reference);
        const Build packed = [&](ggml_context * ctx) {
            return ggml_mul_mat_i8_tensorwise(ctx, layer.w, ggml_quantize_i8_convrot(ctx, x, 16), layer.scale,
                                              layer.bias, 16);
        };
        layer.check_against(packed, expected, "packed");
        const Build renamed = [&](ggml_context * ctx) {
            ggml_tensor * q = ggml_quantize_i8_convrot(ctx, x, 16);
            return ggml_mul_mat_i8_tensorwise(ctx, layer.w, ggml_reshape(ctx, q, q), layer.scale, layer.bias,
                                              16);
        };
        layer.check_against(renamed, expected, "under another name");
    }
}

TEST(linear_i8, reads_copies_of_packed_activations) {
    Layer layer({64, 33});
    ggml_tensor * x = layer.in.floats({64, 5, 2, 1});
    const Outcome packed = run([&](ggml_context * ctx) { return ggml_quantize_i8_convrot(ctx, x, 64); });
    ggml_tensor * copy = layer.in.tensor(GGML_TYPE_I8, packed.ne);
    std::memcpy(copy->data, packed.bytes.data(), packed.bytes.size());
    const Build build = [&](ggml_context * ctx) {
        ggml_tensor * q = ggml_quantize_i8_convrot(ctx, x, 64);
        ggml_tensor * y = ggml_mul_mat_i8_tensorwise(ctx, layer.w, q, layer.scale, layer.bias, 64);
        y->src[1] = copy;
        return y;
    };
    layer.check_against(build, reference(layer.build(x, 64), linear_i8_reference), "copy");
}

TEST(linear_i8, zero_rows_give_the_bias) {
    Layer layer({64, 20});
    ggml_tensor * x = layer.in.floats({64, 24, 1, 1});
    for (int64_t k = 0; k < 64; ++k) at(x, k, 3) = at(x, k, 23) = 0.0f;
    layer.check(x, 64, "zero rows");
    const std::vector<float> y = run(layer.build(x, 64)).floats();
    for (int n = 0; n < 20; ++n) {
        EXPECT_EQ(y[size_t(3 * 20 + n)], at(layer.bias, n));
        EXPECT_EQ(y[size_t(23 * 20 + n)], at(layer.bias, n));
    }
}

TEST(linear_i8, rows_that_are_not_finite_disturb_no_other) {
    for (const int64_t rows : {6, 40}) {
        Layer layer({256, 40});
        ggml_tensor * x = layer.in.floats({256, rows, 1, 1});
        const std::vector<float> clean = run(layer.build(x, 256)).floats();
        at(x, 17, 1) = kNan;
        at(x, 0, 2) = kInf;
        at(x, 255, 4) = -kInf;
        layer.check(x, 256, "not finite");
        const std::vector<float> y = run(layer.build(x, 256)).floats();
        for (size_t i = 0; i < y.size(); ++i) {
            const size_t row = i / 40;
            if (row == 1 || row == 2 || row == 4)
                EXPECT_TRUE(std::isnan(y[i])) << i;
            else
                EXPECT_EQ(y[i], clean[i]) << i;
        }
    }
}

TEST(linear_i8, takes_tiny_and_huge_rows) {
    Layer layer({64, 20});
    ggml_tensor * x = layer.in.floats({64, 21, 1, 1});
    for (int64_t k = 0; k < 64; ++k) {
        at(x, k, 1) *= 1e-40f;
        at(x, k, 2) *= 1e-34f;
        at(x, k, 3) *= 1e36f;
        at(x, k, 4) = std::numeric_limits<float>::max();
    }
    layer.check(x, 16, "extremes");
}

TEST(linear_i8, scales_of_codes_may_be_anything) {
    Layer layer({20, 9});
    for (const int64_t rows : {4, 30}) {
        ggml_tensor * codes = layer.in.bytes({20, rows, 1, 1});
        ggml_tensor * x_scale = layer.in.floats({rows, 1, 1, 1});
        at(x_scale, 0) = kNan;
        at(x_scale, 1) = -0.0f;
        at(x_scale, 2) = kInf;
        layer.check(codes, 0, "scales", x_scale);
    }
}

TEST(linear_i8, of_no_rows_is_nothing) {
    Layer layer({16, 4});
    const Outcome got = run(layer.build(layer.in.floats({16, 0, 2, 1}), 4));
    EXPECT_EQ(got.status, GGML_STATUS_SUCCESS);
    EXPECT_EQ(got.ne, (Sizes{4, 0, 2, 1}));
    EXPECT_TRUE(got.bytes.empty());
}

TEST(linear_i8, may_write_over_its_inputs) {
    for (const int64_t rows : {16, 20}) { // dot products, tiles
        Layer layer({80, 64}, uint32_t(rows));
        ggml_tensor * x = layer.in.floats({80, rows, 1, 1});
        const Build build = layer.build(x, 16);
        const Outcome expected = reference(build, linear_i8_reference);
        RunOptions options;
        options.result_in = x;
        layer.check_against(build, expected, "over the activations", options);
        options.result_offset = 320; // x has room for it
        layer.check_against(build, expected, "a row behind", options);
        options = {};
        options.result_in = layer.w;
        layer.check_against(build, expected, "over the weight", options);
    }
}

// Returns true from its n-th call on.
struct Countdown {
    int calls = 0, limit = 0;
};

TEST(linear_i8, stops_between_phases_when_the_caller_says_so) {
    static Countdown countdown; // the callback of a run has no data of its own
    const ggml_abort_callback abort = [](void *) { return ++countdown.calls > countdown.limit; };
    for (const int64_t rows : {3, 3000}) { // 3000 rows of this length are two blocks
        Layer layer({16384, 8});
        ggml_tensor * codes = layer.in.bytes({16384, rows, 1, 1});
        countdown = {0, std::numeric_limits<int>::max()};
        EXPECT_EQ(run(layer.build(codes, 0), {.abort = abort}).status, GGML_STATUS_SUCCESS);
        const int calls = countdown.calls;
        EXPECT_GE(calls, rows > 1000 ? 8 : 4) << "before and after each phase";
        for (int n = 0; n < calls; ++n) {
            countdown = {0, n};
            EXPECT_EQ(run(layer.build(codes, 0), {.abort = abort}).status, GGML_STATUS_ABORTED) << n;
        }
    }
}

TEST(linear_i8, layers_with_an_input_scale_undo_it_before_the_bias) {
    Layer layer({64, 12});
    for (const float c : {0.125f, 3.0f, -0.7f}) {
        ggml_tensor *x = layer.in.floats({64, 7, 1, 1}),
                    *scaled = layer.in.tensor(GGML_TYPE_F32, {64, 7, 1, 1});
        for (int64_t i = 0; i < 7 * 64; ++i) at(scaled, i % 64, i / 64) = at(x, i % 64, i / 64) * c;
        const Outcome product = run([&](ggml_context * ctx) {
            return ggml_mul_mat_i8_tensorwise(ctx, layer.w, scaled, layer.scale, nullptr, 64);
        });
        for (ggml_tensor * bias : {layer.bias, static_cast<ggml_tensor *>(nullptr)}) {
            const std::vector<float> y =
                run([&](ggml_context * ctx) {
                    return ggml_ext_linear_i8_tensorwise(ctx, x, layer.w, layer.scale, bias, 64, c);
                }).floats();
            ASSERT_EQ(y.size(), 7u * 12u);
            for (size_t i = 0; i < y.size(); ++i) {
                volatile float expected = product.floats()[i] * (1.0f / c);
                if (bias != nullptr) expected = expected + at(bias, int64_t(i % 12));
                EXPECT_EQ(y[i], expected);
            }
        }
    }
}

TEST(linear_i8, layers_with_input_scale_one_are_one_node) {
    Layer layer({64, 12});
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    ggml_tensor * x = layer.in.floats({64, 7, 1, 1});
    for (ggml_tensor * acts : {x, ggml_quantize_i8_convrot(ctx.get(), x, 64)}) {
        ggml_tensor * y =
            ggml_ext_linear_i8_tensorwise(ctx.get(), acts, layer.w, layer.scale, layer.bias, 64);
        ASSERT_NE(y, nullptr);
        EXPECT_EQ(ggml_ext_node_op(y), linear_i8_op());
        EXPECT_EQ(y->src[1], acts);
    }
}

} // namespace
} // namespace sd::test
