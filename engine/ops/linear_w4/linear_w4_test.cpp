#include "ops/linear_w4/schema.h"

#include "ops/linear_w4/test_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace sd::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

TEST(linear_w4, reads_signed_nibbles_the_even_column_in_the_low_one) {
    // One activation code at a time: what comes back is one weight after the other.
    Inputs in;
    ggml_tensor *w = in.tensor(GGML_TYPE_I8, {8, 1, 1, 1}), *x = in.tensor(GGML_TYPE_F32, {16, 16, 1, 1});
    for (int i = 0; i < 8; ++i)
        static_cast<uint8_t *>(w->data)[i] = uint8_t(2 * i | (2 * i + 1) << 4); // column k has nibble k
    for (int64_t k = 0; k < 16; ++k) at(x, k, k) = 127.0f;
    ggml_tensor * scale = in.floats({1, 1, 1, 1}, Rows::contiguous, 1.0f / 127, 1.0f / 127);
    const std::vector<float> y =
        run([&](ggml_context * ctx) {
            return ggml_mul_mat_w4_convrot(ctx, w, x, scale, nullptr, nullptr, nullptr, nullptr, 1);
        }).floats();
    ASSERT_EQ(y.size(), 16u);
    for (int k = 0; k < 16; ++k) EXPECT_NEAR(y[size_t(k)], k < 8 ? k : k - 16, 1e-5) << k;
}

void check_sizes(int64_t m, int64_t n, int64_t k) {
    SignedLayer layer({k, n}, uint32_t(m * 7 + n * 3 + k));
    const int group = k % 16 == 0 ? 16 : k % 4 == 0 ? 4 : 1;
    ggml_tensor * x = layer.in.floats({k, m, 1, 1});
    if ((m + n + k) % 3 == 0) layer.bias = nullptr;
    const Outcome expected = layer.expected(x, group);
    for (const std::string & name : usable_kernel_names()) {
        const RunOptions options = {.n_threads = 1 + int((m + n) % 3),
                                    .disabled = all_but(all_kernel_names(), name)};
        expect_same_floats(run(layer.build(x, group), options), expected,
                           std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) + ", " +
                               name);
    }
}

TEST(linear_w4, signed_layers_of_all_sizes_have_the_bits_of_the_reference) {
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 11, 16, 17, 18, 19, 23, 24, 25, 33, 64}) {
        for (const int64_t n : {1, 3, 15, 17, 33, 64, 100}) {
            for (const int64_t k : {2, 4, 6, 8, 10, 16, 30, 64, 66, 126, 128, 130, 256, 260, 514, 1000})
                check_sizes(m, n, k);
        }
    }
    for (const int64_t m : {1, 4, 9, 33}) check_sizes(m, 70, 4096);
}

TEST(linear_w4, signed_layers_take_f32_activations_of_any_rows_and_groups) {
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        for (const int group : {1, 4, 16, 64, 256}) {
            SignedLayer layer({256, 19}, uint32_t(group + 1));
            layer.check(layer.in.floats({256, 5, 3, 2}, rows), group, "group " + std::to_string(group));
        }
    }
    SignedLayer layer({4096, 7});
    for (const int group : {1024, 4096}) layer.check(layer.in.floats({4096, 3, 1, 1}), group, "large group");
}

TEST(linear_w4, signed_layers_are_int8_layers_of_the_unpacked_weights_and_share_their_activations) {
    for (const int64_t rows : {1, 3, 18, 65}) {
        SignedLayer layer({64, 33}, uint32_t(rows));
        ggml_tensor * unpacked = layer.in.tensor(GGML_TYPE_I8, {64, 33, 1, 1});
        for (int64_t i = 0; i < 32 * 33; ++i) {
            const int byte = static_cast<int8_t *>(layer.w->data)[i];
            static_cast<int8_t *>(unpacked->data)[2 * i] = int8_t(int8_t(byte << 4) >> 4);
            static_cast<int8_t *>(unpacked->data)[2 * i + 1] = int8_t(byte >> 4);
        }
        ggml_tensor * x = layer.in.floats({64, rows, 2, 1});
        // The sum of both layers on the same packed node; then of the INT8 layer with itself.
        const auto both = [&](bool w4) {
            return [&, w4](ggml_context * ctx) {
                ggml_tensor * q = ggml_quantize_i8_convrot(ctx, x, 16);
                ggml_tensor * i8 =
                    ggml_mul_mat_i8_tensorwise(ctx, unpacked, q, layer.scale, layer.bias, 16, nullptr);
                return ggml_add(ctx, i8, w4 ? layer.node(ctx, ggml_reshape(ctx, q, q), 16) : i8);
            };
        };
        check_against(both(true), run(both(false)), "with the int8 layer");
    }
}

TEST(linear_w4, reads_copies_of_packed_activations) {
    SignedLayer layer({64, 33});
    ggml_tensor * x = layer.in.floats({64, 5, 2, 1});
    check_against(on_copy(layer.build(x, 64), packed_copy(layer.in, x, 64)), layer.expected(x, 64), "copy");
}

TEST(linear_w4, extreme_codes_and_weights_do_not_saturate) {
    for (const int64_t k : {2, 64, 1024, 4098, 131072, 150000}) { // the last are summed in pieces
        for (const int byte : {0x88, 0x77}) {
            for (const float sign : {1.0f, -1.0f}) {
                for (const int64_t m : {1, 4, 20}) {
                    SignedLayer layer({k, 5});
                    ggml_tensor * x = layer.in.floats({k, m, 1, 1}, Rows::contiguous, sign, sign);
                    std::memset(layer.w->data, byte, ggml_nbytes(layer.w));
                    layer.check(x, 1, "weights " + std::to_string(byte) + ", K " + std::to_string(k));
                }
            }
        }
    }
}

TEST(linear_w4, zero_rows_give_the_bias) {
    SignedLayer layer({64, 20});
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

TEST(linear_w4, takes_outliers_and_tiny_and_huge_rows) {
    SignedLayer layer({64, 20});
    ggml_tensor * x = layer.in.floats({64, 21, 1, 1});
    at(x, 7, 0) = at(x, 11, 19) = 1e4f;
    for (int64_t k = 0; k < 64; ++k) {
        at(x, k, 1) *= 1e-40f;
        at(x, k, 2) *= 1e-34f;
        at(x, k, 3) *= 1e36f;
        at(x, k, 4) = std::numeric_limits<float>::max();
    }
    layer.check(x, 16, "extremes");
}

TEST(linear_w4, rows_that_are_not_finite_disturb_no_other) {
    for (const int64_t rows : {6, 40}) {
        SignedLayer layer({256, 40});
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

TEST(linear_w4, of_no_rows_is_nothing) {
    SignedLayer layer({16, 4});
    const Outcome got = run(layer.build(layer.in.floats({16, 0, 2, 1}), 4));
    EXPECT_EQ(got.status, GGML_STATUS_SUCCESS);
    EXPECT_EQ(got.ne, (Sizes{4, 0, 2, 1}));
    EXPECT_TRUE(got.bytes.empty());
}

TEST(linear_w4, may_write_over_its_inputs) {
    for (const int64_t rows : {16, 20}) { // dot products, tiles
        SignedLayer layer({160, 64}, uint32_t(rows));
        ggml_tensor * x = layer.in.floats({160, rows, 1, 1});
        RunOptions options;
        options.result_in = layer.w;
        check_against(layer.build(x, 16), layer.expected(x, 16), "over the weight", options);
    }
}

} // namespace
} // namespace sd::test
