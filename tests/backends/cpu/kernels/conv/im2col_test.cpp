// IM2COL, IM2COL_3D and COL2IM_1D. Copies are exact; conversions round as the scalar functions do.
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

struct Types {
    ggml_type image, result;
};
const RunOptions kFewThreads{{1, 3}, true, true};
constexpr Types kTypes[] = {{GGML_TYPE_F32, GGML_TYPE_F32},
                            {GGML_TYPE_F32, GGML_TYPE_F16},
                            {GGML_TYPE_F16, GGML_TYPE_F16},
                            {GGML_TYPE_F16, GGML_TYPE_F32}};

TEST(im2col, is_exact_for_every_mix_of_types_strides_and_layouts) {
    for (const Types & types : kTypes) {
        for (int stride : {1, 2, 3}) {
            for (int pad : {0, 1, 5}) {
                for (int dilation : {1, 2}) {
                    OpCheck check;
                    ggml_tensor * kernel = check.input(GGML_TYPE_F16, {3, 2, 5, 1});
                    ggml_tensor * image = check.input(types.image, {13, 11, 5, 2});
                    check.check(ggml_im2col(check.ctx(), kernel, image, stride, 1 + pad % 2, pad, 1, dilation,
                                            3 - dilation, true, types.result),
                                kExact, kFewThreads);
                }
            }
        }
        for (Layout layout :
             {Layout::padded_rows, Layout::transposed01, Layout::permuted12, Layout::permuted23}) {
            OpCheck check;
            ggml_tensor * kernel = check.input(GGML_TYPE_F16, {3, 3, 6, 1});
            ggml_tensor * image = check.input(types.image, {7, 9, 6, 2}, layout);
            check.check(ggml_im2col(check.ctx(), kernel, image, 1, 1, 1, 1, 1, 1, true, types.result),
                        kExact);
        }
    }
}

TEST(im2col, takes_every_kernel_width_and_many_channels) {
    for (int64_t width : {1, 2, 3, 4, 7}) {
        OpCheck check(64u << 20);
        ggml_tensor * kernel = check.input(GGML_TYPE_F32, {width, 3, 300, 1});
        ggml_tensor * image = check.input(GGML_TYPE_F32, {40, 5, 300, 1});
        check.check(
            ggml_im2col(check.ctx(), kernel, image, 1, 2, int(width / 2), 0, 1, 1, true, GGML_TYPE_F16),
            kExact, kFewThreads);
    }
}

TEST(im2col, takes_signals) {
    for (const Types & types : kTypes) {
        for (int64_t length : {1, 37, 1000}) {
            OpCheck check;
            ggml_tensor * kernel = check.input(GGML_TYPE_F32, {3, 4, 2, 1});
            ggml_tensor * signal = check.input(types.image, {length, 4, 3, 1});
            check.check(ggml_im2col(check.ctx(), kernel, signal, 2, 0, 2, 0, 2, 0, false, types.result),
                        kExact);
        }
    }
}

TEST(im2col, takes_more_than_65535_rows_and_images) {
    OpCheck check(64u << 20);
    ggml_tensor * kernel = check.input(GGML_TYPE_F32, {3, 1, 1, 1});
    check.check(ggml_im2col(check.ctx(), kernel, check.input(GGML_TYPE_F32, {2, 70001, 1, 1}), 1, 1, 1, 0, 1,
                            1, true, GGML_TYPE_F16),
                kExact, kFewThreads);
    check.check(ggml_im2col(check.ctx(), kernel, check.input(GGML_TYPE_F32, {2, 1, 1, 70001}), 1, 1, 1, 0, 1,
                            1, true, GGML_TYPE_F32),
                kExact, kFewThreads);
}

TEST(im2col, keeps_nan_and_turns_what_f16_cannot_hold_into_infinity) {
    OpCheck check;
    ggml_tensor * kernel = check.input(GGML_TYPE_F32, {1, 1, 1, 1});
    ggml_tensor * image = check.values({NAN, INFINITY, -1e6f, 1.0f}, {4, 1, 1, 1});
    ggml_tensor * out = ggml_im2col(check.ctx(), kernel, image, 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F16);
    check.check(out, kExact);
    const std::vector<double> values = check.compute(out, false);
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], INFINITY);
    EXPECT_EQ(values[2], -INFINITY);
    EXPECT_EQ(values[3], 1.0);
}

TEST(im2col, gives_hand_computed_columns) {
    for (bool use_ref : {true, false}) {
        OpCheck check;
        ggml_tensor * kernel = check.input(GGML_TYPE_F32, {2, 1, 2, 1});
        ggml_tensor * image = check.values({1, 2, 3, 4}, {2, 1, 2, 1});
        ggml_tensor * out = ggml_im2col(check.ctx(), kernel, image, 1, 1, 1, 0, 1, 1, true, GGML_TYPE_F32);
        expect_close(check.compute(out, use_ref), {0, 1, 0, 3, 1, 2, 3, 4, 2, 0, 4, 0}, kExact, "im2col");
    }
}

TEST(im2col_3d, is_exact_for_every_mix_of_types_and_strides) {
    for (const Types & types : kTypes) {
        for (int stride : {1, 2}) {
            for (int pad : {0, 2}) {
                OpCheck check;
                ggml_tensor * kernel = check.input(GGML_TYPE_F32, {3, 2, 2, 6});
                ggml_tensor * image = check.input(types.image, {9, 8, 5, 3 * 2});
                check.check(ggml_im2col_3d(check.ctx(), kernel, image, 3, stride, 1, 3 - stride, pad, 1, pad,
                                           1, 2, stride, types.result),
                            kExact, kFewThreads);
            }
        }
    }
}

TEST(col2im_1d, matches_the_reference_for_every_type) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
        // Sums of a few terms in F32 against double: at most one step of the result's type apart.
        const Tolerance close = type == GGML_TYPE_F32 ? Tolerance{1e-6, 1e-6, 0}
                                                      : Tolerance{0, type == GGML_TYPE_F16 ? 1e-3 : 8e-3, 0};
        for (int stride : {1, 2, 5}) {
            for (int pad : {0, 1, 3}) {
                OpCheck check;
                ggml_tensor * columns =
                    check.input(type, {4 * 3, 1500, 1, 1}, Layout::contiguous, 0.5f, 1.0f);
                check.check(ggml_col2im_1d(check.ctx(), columns, stride, 3, pad), close,
                            {{1, 3}, false, true});
            }
        }
    }
}

TEST(col2im_1d, leaves_gaps_between_short_kernels_zero) {
    for (bool use_ref : {true, false}) {
        OpCheck check;
        ggml_tensor * columns = check.values({1, 2, 3, 4}, {2, 2, 1, 1});
        expect_close(check.compute(ggml_col2im_1d(check.ctx(), columns, 3, 1, 0), use_ref), {1, 2, 0, 3, 4},
                     kExact, "gap");
        expect_close(check.compute(ggml_col2im_1d(check.ctx(), columns, 1, 1, 0), use_ref), {1, 5, 4}, kExact,
                     "overlap");
        expect_close(check.compute(ggml_col2im_1d(check.ctx(), columns, 1, 1, 1), use_ref), {5}, kExact,
                     "cropped");
    }
}

} // namespace
} // namespace ggml::test
