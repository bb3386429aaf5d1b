// CONV_2D_DW, CONV_TRANSPOSE_1D and CONV_TRANSPOSE_2D.
#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

Tolerance sum_tolerance(int64_t terms) { return {1.2e-7 * double(terms) + 1e-6, 0, 0}; }

// The same image and kernel with channels innermost in memory.
ggml_tensor * channels_innermost(OpCheck & check, ggml_type type, Shape ne) {
    return ggml_permute(check.ctx(), check.input(type, {ne[2], ne[0], ne[1], ne[3]}), 2, 0, 1, 3);
}
ggml_tensor * kernel_innermost(OpCheck & check, ggml_type type, Shape ne) {
    return ggml_permute(check.ctx(), check.input(type, {ne[3], ne[0], ne[1], 1}), 3, 0, 1, 2);
}

TEST(conv_2d_dw, matches_the_reference_in_both_memory_orders) {
    for (bool channels_last : {false, true}) {
        for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            for (int stride : {1, 2, 3}) {
                for (int pad : {0, 2}) {
                    for (int dilation : {1, 3}) {
                        OpCheck check;
                        const Shape image{83, 14, 5, 2}, taps{3, 2, 1, 5};
                        ggml_tensor * data = channels_last ? channels_innermost(check, GGML_TYPE_F32, image)
                                                           : check.input(GGML_TYPE_F32, image);
                        ggml_tensor * kernel =
                            channels_last ? kernel_innermost(check, type, taps) : check.input(type, taps);
                        check.check(ggml_conv_2d_dw_direct(check.ctx(), kernel, data, stride, 1 + pad / 2,
                                                           pad, 1, dilation, 2),
                                    sum_tolerance(6), {{1, 3}, true, true});
                    }
                }
            }
        }
    }
}

TEST(conv_2d_dw, takes_every_row_length_and_channel_count) {
    for (int64_t n : {1, 2, 15, 16, 17, 31, 64, 65, 130}) {
        for (int stride : {1, 2}) {
            OpCheck check;
            check.check(ggml_conv_2d_dw_direct(check.ctx(), check.input(GGML_TYPE_F32, {3, 3, 1, 2}),
                                               check.input(GGML_TYPE_F32, {n, 3, 2, 1}), stride, 1, 1, 1, 1,
                                               1),
                        sum_tolerance(9));
            check.check(ggml_conv_2d_dw_direct(
                            check.ctx(), kernel_innermost(check, GGML_TYPE_F32, {3, 3, 1, n}),
                            channels_innermost(check, GGML_TYPE_F32, {6, 5, n, 1}), stride, 1, 1, 1, 1, 1),
                        sum_tolerance(9));
        }
    }
}

TEST(conv_2d_dw, takes_padded_rows_and_kernels_as_large_as_the_image) {
    OpCheck check;
    check.check(ggml_conv_2d_dw_direct(check.ctx(), check.input(GGML_TYPE_F32, {3, 3, 1, 4}),
                                       check.input(GGML_TYPE_F32, {20, 6, 4, 2}, Layout::padded_rows), 1, 1,
                                       1, 1, 1, 1),
                sum_tolerance(9));
    check.check(ggml_conv_2d_dw_direct(check.ctx(), check.input(GGML_TYPE_F32, {7, 7, 1, 4}),
                                       check.input(GGML_TYPE_F32, {5, 5, 4, 1}), 1, 1, 1, 1, 1, 1),
                sum_tolerance(49));
}

TEST(conv_2d_dw, keeps_nan_within_its_channel) {
    OpCheck check;
    ggml_tensor * data = check.input(GGML_TYPE_F32, {40, 3, 2, 1});
    set_element(data, 20, 1, 1, 0, NAN);
    ggml_tensor * out =
        ggml_conv_2d_dw_direct(check.ctx(), check.input(GGML_TYPE_F32, {3, 3, 1, 2}), data, 1, 1, 1, 1, 1, 1);
    check.check(out, sum_tolerance(9));
    const std::vector<double> values = check.compute(out, false);
    EXPECT_TRUE(std::isfinite(values[1 * 40 + 20]));
    EXPECT_TRUE(std::isnan(values[(3 + 1) * 40 + 20]));
    EXPECT_TRUE(std::isfinite(values[(3 + 1) * 40 + 22]));
}

TEST(conv_transpose_1d, matches_the_reference) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (int stride : {1, 2, 3, 8}) {
            for (int64_t taps : {1, 3, 4, 16}) {
                OpCheck check;
                check.check(ggml_conv_transpose_1d(check.ctx(), check.input(type, {taps, 5, 7, 1}),
                                                   check.input(GGML_TYPE_F32, {600, 7, 1, 1}), stride, 0, 1),
                            sum_tolerance(7 * (taps / stride + 1)), {{1, 3}, false, true});
            }
        }
    }
}

TEST(conv_transpose_2d, matches_the_reference) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (int stride : {1, 2, 3}) {
            for (int64_t taps : {1, 2, 3}) {
                for (Layout layout :
                     {Layout::contiguous, Layout::padded_rows, Layout::transposed01, Layout::permuted12}) {
                    OpCheck check;
                    check.check(ggml_conv_transpose_2d_p0(check.ctx(), check.input(type, {taps, 3, 67, 9}),
                                                          check.input(GGML_TYPE_F32, {7, 6, 9, 2}, layout),
                                                          stride),
                                sum_tolerance(9 * taps * 3), {{1, 3}, false, true});
                }
            }
        }
    }
}

TEST(conv_transpose_2d, splits_large_images_into_tiles) {
    OpCheck check(64u << 20);
    check.check(ggml_conv_transpose_2d_p0(check.ctx(), check.input(GGML_TYPE_F32, {4, 4, 3, 2}),
                                          check.input(GGML_TYPE_F32, {61, 23, 2, 1}), 2),
                sum_tolerance(8), {{1, 2, 3, 4, 5, 6, 7, 8}, false, true});
}

TEST(conv_transpose, gives_hand_computed_values) {
    for (bool use_ref : {true, false}) {
        OpCheck check;
        ggml_tensor * kernel = check.values({1, 10, 100}, {3, 1, 1, 1});
        ggml_tensor * signal = check.values({1, 2}, {2, 1, 1, 1});
        expect_close(check.compute(ggml_conv_transpose_1d(check.ctx(), kernel, signal, 1, 0, 1), use_ref),
                     {1, 12, 120, 200}, kExact, "stride 1");
        expect_close(check.compute(ggml_conv_transpose_1d(check.ctx(), kernel, signal, 2, 0, 1), use_ref),
                     {1, 10, 102, 20, 200}, kExact, "stride 2");
        ggml_tensor * square = check.values({1, 2, 3, 4}, {2, 2, 1, 1});
        ggml_tensor * image = check.values({1, 10}, {2, 1, 1, 1});
        expect_close(check.compute(ggml_conv_transpose_2d_p0(check.ctx(), square, image, 1), use_ref),
                     {1, 12, 20, 3, 34, 40}, kExact, "square");
    }
}

} // namespace
} // namespace ggml::test
