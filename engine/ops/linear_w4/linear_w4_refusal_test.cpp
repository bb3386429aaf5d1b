#include "ops/common/test_graph.h"
#include "ops/linear_w4/schema.h"
#include "sd-ggml-ops.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

namespace sd::test {
namespace {

// What does not fit: one of the layers below with one operand changed.
struct Case {
    ggml_tensor *weight, *input, *scale, *codebook, *channel, *relative, *bias;
    int group = 64;
};

class LinearW4Refusal : public testing::Test {
  protected:
    Inputs in;
    ggml::test::LogCapture log;
    ggml_context_ptr ctx{ggml_init({1u << 20, nullptr, true})};
    ggml_tensor *w = in.bytes({32, 12, 1, 1}), *x = in.floats({64, 5, 1, 1}), *s = in.floats({12, 1, 1, 1}),
                *book = in.floats({16, 1, 1, 1}), *rel = in.bytes({4, 12, 1, 1}),
                *b = in.floats({12, 1, 1, 1});
    Case w4a4{w, x, s, nullptr, nullptr, nullptr, b}, w4a8{w, x, nullptr, book, s, rel, b};

    ggml_tensor * node(const Case & c) {
        return ggml_mul_mat_w4_convrot(ctx.get(), c.weight, c.input, c.scale, c.codebook, c.channel,
                                       c.relative, c.bias, c.group);
    }

    // changed: a layer with one member replaced.
    void refuses(const Case & changed, const char * words) {
        log.text.clear();
        ASSERT_EQ(node(changed), nullptr) << words;
        EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_INFER_FAILED);
        EXPECT_NE(std::string(ggml_ext_last_message()).find(words), std::string::npos)
            << ggml_ext_last_message();
        EXPECT_FALSE(log.text.empty()) << "each refusal is one error line";
    }

    template <class T>
    Case with(Case c, T Case::*member, T value) {
        c.*member = value;
        return c;
    }
    Case with(const Case & c, ggml_tensor * Case::*member) {
        return with(c, member, static_cast<ggml_tensor *>(nullptr));
    }
};

TEST_F(LinearW4Refusal, accepts_what_the_others_are_variations_of) {
    EXPECT_NE(node(w4a4), nullptr);
    EXPECT_NE(node(w4a8), nullptr);
    EXPECT_NE(node(with(w4a4, &Case::bias)), nullptr);
    EXPECT_NE(node(with(w4a8, &Case::bias)), nullptr);
    EXPECT_NE(node(with(w4a8, &Case::group, 1)), nullptr);
    EXPECT_NE(node(with(w4a4, &Case::input, ggml_quantize_i8_convrot(ctx.get(), x, 64))), nullptr);
}

TEST_F(LinearW4Refusal, of_weights) {
    for (const Case & c : {w4a4, w4a8}) {
        refuses(with(c, &Case::weight), "weight is none");
        refuses(with(c, &Case::weight, x), "weight is f32 [64, 5, 1, 1], not i8 [K/2, N]");
        refuses(with(c, &Case::weight, in.bytes({32, 12, 2, 1})), "weight is i8 [32, 12, 2, 1]");
        refuses(with(c, &Case::weight, in.tensor(GGML_TYPE_I8, {32, 12, 1, 1}, Rows::padded)),
                "not contiguous");
    }
}

TEST_F(LinearW4Refusal, of_activations) {
    for (const Case & c : {w4a4, w4a8}) {
        refuses(with(c, &Case::input), "activations are none");
        refuses(with(c, &Case::input, in.tensor(GGML_TYPE_F16, {64, 5, 1, 1})),
                "activations are f16 [64, 5, 1, 1], not f32 or packed");
        refuses(with(c, &Case::input, in.bytes({64, 5, 1, 1})), "activations are i8 [64, 5, 1, 1], not f32");
        refuses(with(c, &Case::input, in.floats({128, 5, 1, 1})), "with K = 64");
        refuses(with(c, &Case::input, in.floats({64, 5, 1, 1}, Rows::sparse)),
                "elements of x are 8 bytes apart");
    }
}

TEST_F(LinearW4Refusal, of_groups) {
    for (const int group : {-4, 0, 2, 8, 32, 256, 16384}) {
        Case c = with(w4a4, &Case::group, group);
        EXPECT_EQ(node(c), nullptr) << group; // by the quantization of its activations
        for (const Case & packed : {w4a4, w4a8}) {
            c = with(packed, &Case::group, group);
            c.input = ggml_quantize_i8_convrot(ctx.get(), x, 64);
            refuses(c, "no power of four up to 4096 that divides K = 64");
        }
    }
}

TEST_F(LinearW4Refusal, of_packed_activations) {
    ggml_tensor * packed = ggml_quantize_i8_convrot(ctx.get(), x, 16);
    for (const Case & c : {w4a4, w4a8}) {
        refuses(with(c, &Case::input, packed), "packed with group 16, the weight has group 64");
        refuses(with(with(c, &Case::input, packed), &Case::group, 1), "packed with group 16");
        ggml_tensor * other = ggml_quantize_i8_convrot(ctx.get(), in.floats({128, 5, 1, 1}), 64);
        refuses(with(c, &Case::input, other), "with K = 64");
        ggml_tensor * part = ggml_view_2d(ctx.get(), packed, 64, 4, 64, 0);
        refuses(with(c, &Case::input, part), "not f32 or packed");
    }
}

TEST_F(LinearW4Refusal, of_scales_of_both_formats_or_of_none) {
    refuses(with(w4a4, &Case::scale), "neither weight scales (W4A4) nor codebook");
    refuses(with(w4a4, &Case::codebook, book), "in one layer");
    refuses(with(w4a4, &Case::channel, s), "in one layer");
    refuses(with(w4a4, &Case::relative, rel), "in one layer");
    refuses(with(w4a8, &Case::scale, s), "in one layer");
    refuses(with(w4a8, &Case::codebook), "codebook is none");
    refuses(with(w4a8, &Case::channel), "channel scale is none");
    refuses(with(w4a8, &Case::relative), "relative scale is none");
}

TEST_F(LinearW4Refusal, of_scales_and_bias_of_other_lengths_and_types) {
    ggml_tensor *eleven = in.floats({11, 1, 1, 1}), *half = in.tensor(GGML_TYPE_F16, {12, 1, 1, 1}),
                *sparse = in.floats({12, 1, 1, 1}, Rows::sparse);
    for (ggml_tensor * t : {eleven, half, sparse, in.floats({1, 1, 1, 1})}) {
        refuses(with(w4a4, &Case::scale, t), "not contiguous f32 with 12 elements");
        refuses(with(w4a8, &Case::channel, t), "not contiguous f32 with 12 elements");
        refuses(with(w4a4, &Case::bias, t), "not contiguous f32 with 12 elements");
        refuses(with(w4a8, &Case::bias, t), "not contiguous f32 with 12 elements");
    }
    refuses(with(w4a8, &Case::codebook, in.floats({15, 1, 1, 1})), "codebook is f32 [15, 1, 1, 1]");
    refuses(with(w4a8, &Case::relative, in.bytes({12, 4, 1, 1})), "relative scale is i8 [12, 4, 1, 1]");
    refuses(with(w4a8, &Case::relative, in.bytes({4, 13, 1, 1})), "not contiguous i8 [4, 12]");
    refuses(with(w4a8, &Case::relative, in.floats({4, 12, 1, 1})), "relative scale is f32");
    refuses(with(w4a8, &Case::relative, in.tensor(GGML_TYPE_I8, {4, 12, 1, 1}, Rows::padded)),
            "not contiguous i8");
}

TEST_F(LinearW4Refusal, of_lengths_that_are_no_multiple_of_a_relative_scale) {
    Case c = {in.bytes({12, 3, 1, 1}), in.floats({24, 5, 1, 1}), nullptr, book,
              in.floats({3, 1, 1, 1}), in.bytes({1, 3, 1, 1}),   nullptr, 4};
    refuses(c, "K = 24 is no multiple of the 16 columns");
}

TEST_F(LinearW4Refusal, of_attributes_that_name_other_sizes) {
    ggml_tensor * packed = ggml_quantize_i8_convrot(ctx.get(), x, 64);
    ggml_tensor * inputs[kLinearW4Inputs] = {w, packed, s, nullptr, nullptr, nullptr, b};
    const LinearW4Attrs fits = {64, 64, LinearW4Format::w4a4, 0, {5, 1, 1}};
    const auto create = [&](const LinearW4Attrs & attrs, int n = kLinearW4Inputs) {
        return ggml_ext_op_create(ctx.get(), linear_w4_op(), inputs, n, &attrs, sizeof(attrs));
    };
    EXPECT_NE(create(fits), nullptr);
    EXPECT_EQ(create(fits, 6), nullptr);
    for (const int64_t rows : {int64_t(9), int64_t(-1), int64_t(1) << 62, INT64_MAX}) {
        LinearW4Attrs attrs = fits;
        attrs.rows[0] = rows;
        EXPECT_EQ(create(attrs), nullptr) << rows;
        EXPECT_NE(std::string(ggml_ext_last_message()).find("do not hold the rows"), std::string::npos);
    }
    for (const auto change : {+[](LinearW4Attrs & a) { a.unused = 1; },
                              +[](LinearW4Attrs & a) { a.format = LinearW4Format::w4a8; },
                              +[](LinearW4Attrs & a) { a.format = LinearW4Format(7); }}) {
        LinearW4Attrs attrs = fits;
        change(attrs);
        EXPECT_EQ(create(attrs), nullptr);
        EXPECT_NE(std::string(ggml_ext_last_message()).find("the attributes name"), std::string::npos)
            << ggml_ext_last_message();
    }
}

} // namespace
} // namespace sd::test
