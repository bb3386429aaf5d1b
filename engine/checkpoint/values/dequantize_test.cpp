#include "checkpoint/values/dequantize.h"

#include "base/rotation.h"
#include "checkpoint/comfy_quant/test_model.h"

#include <cmath>
#include <limits>

namespace sd {
namespace {

using test::bytes_of;
using test::int8_layer;
using test::TestModel;
using Floats = std::vector<float>;

class DequantizeTest : public test::QuantTest {
  protected:
    Floats weights(const TestModel & model, const QuantOptions & options = {}) const {
        const Checkpoint checkpoint = load(model);
        const QuantModules found = find_quant_modules(checkpoint, options);
        const Dequantizer source(checkpoint, found.modules.at(0));
        Floats out(size_t(source.rows() * source.row_length()));
        source.read(0, source.rows(), out.data());
        return out;
    }
    static float product(const Floats & w, const Floats & x) {
        double sum = 0;
        for (size_t i = 0; i < x.size(); ++i) sum += double(w[i]) * double(x[i]);
        return float(sum);
    }
};

constexpr const char * kRotated4 = R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":4})";

TEST_F(DequantizeTest, rotation_is_undone_with_the_regular_hadamard_matrix) {
    EXPECT_NEAR(product(weights(int8_layer(1, 4, kRotated4)), {2, 0, 0, 0}), 1.0f, 1e-6); // 2 when skipped
    EXPECT_NEAR(product(weights(int8_layer(
                            1, 16, R"({"format":"int8_tensorwise","convrot":true,"convrot_groupsize":16})")),
                        {4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
                1.0f, 1e-6); // 4 when skipped
    TestModel last;
    last.add("l.weight", "I8", {1, 4}, bytes_of<int8_t>({0, 0, 0, 127}))
        .floats("l.weight_scale", {1}, {1.0f / 127});
    EXPECT_NEAR(product(weights(last.marker("l", kRotated4)), {2, 0, 0, 0}), -1.0f,
                1e-6); // +1 with Sylvester's
}

TEST_F(DequantizeTest, every_shape_of_the_scale_means_the_same) {
    const Floats expected = weights(int8_layer(2, 4, kRotated4));
    for (const std::vector<int64_t> & shape : {std::vector<int64_t>{}, {1}, {1, 1}, {2}, {2, 1}}) {
        TestModel model;
        model.add("l.weight", "I8", {2, 4}, bytes_of<int8_t>({127, 0, 0, 0, 127, 0, 0, 0}))
            .marker("l", kRotated4);
        size_t n = 1;
        for (const int64_t d : shape) n *= size_t(d);
        EXPECT_EQ(weights(model.floats("l.weight_scale", shape, Floats(n, 1.0f / 127))), expected);
    }
    EXPECT_EQ(weights(int8_layer(2, 4, ""), {.assume_int8_group = 4}), expected);
}

TEST_F(DequantizeTest, low_nibbles_come_first_and_8_means_minus_8) {
    TestModel model;
    model.add("l.weight", "I8", {1, 2}, bytes_of<uint8_t>({0x21, 0x8f})).floats("l.weight_scale", {1}, {2});
    EXPECT_EQ(weights(model.marker("l", R"({"format":"convrot_w4a4","convrot_groupsize":1})")),
              (Floats{2, 4, -2, -16}));
}

TEST_F(DequantizeTest, w4a8_levels_are_scaled_twice) {
    const std::vector<uint8_t> packed = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe}; // 0 to 15
    for (const bool book : {true, false}) {
        for (const char * type : {"F8_E4M3", "U8", "F32"}) {
            TestModel model;
            model.add("l.weight", "I8", {1, 8}, bytes_of(packed)).floats("l.weight_s_channel", {1}, {0.5f});
            if (std::string(type) == "F32") {
                model.floats("l.weight_s_rel", {1, 1}, {16});
            } else {
                model.add("l.weight_s_rel", type, {1, 1}, "\x58"); // 16
            }
            Floats levels, expected;
            for (int i = 0; i < 16; ++i) levels.push_back(book ? float(i * i) : float(i - 8));
            for (const float level : levels) expected.push_back(level * 8);
            if (book) model.floats("l.weight_codebook", {16}, levels);
            model.marker("l", R"({"format":"asym_w4a8_int8","convrot_groupsize":1,"group_size":16})");
            EXPECT_EQ(weights(model), expected) << type;
        }
    }
}

TEST_F(DequantizeTest, float8_bytes_are_multiplied_by_their_scale) {
    const std::string codes = bytes_of<uint8_t>({0x38, 0x40, 0xb8, 0x00}); // E4M3: 1, 2, -1, 0
    TestModel labelled, none, old, bias5;
    labelled.add("l.weight", "U8", {2, 2}, codes).floats("l.weight_scale", {2, 1}, {3, 5});
    EXPECT_EQ(weights(labelled.marker("l", R"({"format":"float8_e4m3fn"})")), (Floats{3, 6, -5, 0}));
    none.add("l.weight", "F8_E4M3", {2, 2}, codes).marker("l", R"({"format":"float8_e4m3fn"})");
    EXPECT_EQ(weights(none), (Floats{1, 2, -1, 0}));
    old.add("l.weight", "F8_E4M3", {2, 2}, codes)
        .floats("l.scale_weight", {}, {0.5f})
        .add("scaled_fp8", "F8_E4M3", {0});
    EXPECT_EQ(weights(old), (Floats{0.5f, 1, -0.5f, 0}));
    bias5.add("l.weight", "F8_E5M2", {1, 2}, bytes_of<uint8_t>({0x3c, 0xc0}))
        .floats("l.weight_scale", {1}, {4});
    EXPECT_EQ(weights(bias5), (Floats{4, -8}));
}

TEST_F(DequantizeTest, convolutions_are_rotated_at_each_place_of_the_kernel) {
    TestModel model;
    std::vector<int8_t> codes(4 * 2);
    codes[0] = 127; // channel 0 of place 0
    codes[7] = 127; // channel 3 of place 1
    model.add("l.weight", "I8", {1, 4, 1, 2}, bytes_of(codes))
        .floats("l.weight_scale", {1, 1, 1, 1}, {1.0f / 127});
    const Floats w = weights(model.marker("l", kRotated4));
    const Floats expected = {0.5f, -0.5f, 0.5f, 0.5f, 0.5f, 0.5f, -0.5f, 0.5f};
    for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], expected[i], 1e-6) << i;
}

TEST_F(DequantizeTest, a_module_as_another_type_is_its_floats_converted) {
    const Checkpoint checkpoint =
        load(int8_layer(300, 4096, R"({"format":"int8_tensorwise","convrot":true})"));
    const QuantModules found = find_quant_modules(checkpoint);
    const QuantModule & m = found.modules.at(0);
    Floats all(size_t(m.n * m.k)), row(size_t(m.k));
    uint64_t progress = 0;
    read_dequantized(checkpoint, m, GGML_TYPE_F32, all.data(),
                     {.threads = 3, .progress = [&](uint64_t b) { progress += b; }});
    EXPECT_EQ(progress, all.size() * 4);
    std::vector<ggml_fp16_t> halves(all.size());
    read_dequantized(checkpoint, m, GGML_TYPE_F16, halves.data());
    for (size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(ggml_fp16_to_fp32(halves[i]), ggml_fp16_to_fp32(ggml_fp32_to_fp16(all[i])));
    const Dequantizer source(checkpoint, m);
    source.read(299, 1, row.data());
    EXPECT_TRUE(std::equal(row.begin(), row.end(), all.end() - m.k));
    EXPECT_EQ(refusal([&] { source.read(300, 1, row.data()); }),
              "E_RANGE FILE: tensor l.weight: row 300 is asked for, but it has 300");
    EXPECT_EQ(refusal([&] { source.read(-1, 1, row.data()); }),
              "E_RANGE FILE: tensor l.weight: row -1 is asked for, but it has 300");
    EXPECT_EQ(refusal([&] { read_dequantized(checkpoint, m, GGML_TYPE_I8, all.data()); }),
              "E_TYPE FILE: tensor l.weight: rows of 4096 values are not converted to i8");
}

TEST_F(DequantizeTest, scales_that_are_not_finite_are_refused) {
    const std::string tail = "; layers need finite scales (the file is damaged or was written by a faulty "
                             "converter: get it again)";
    const auto check = [&](const TestModel & model) {
        return refusal([&] {
            const Checkpoint checkpoint = load(model);
            check_scale_values(checkpoint, find_quant_modules(checkpoint).modules.at(0));
        });
    };
    const auto both = [&](const TestModel & model, const std::string & line) {
        EXPECT_EQ(check(model), line);
        EXPECT_EQ(refusal([&] { weights(model); }), line);
    };
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                    kInfinity = std::numeric_limits<float>::infinity();
    TestModel int8;
    int8.add("l.weight", "I8", {2, 4}).floats("l.weight_scale", {2, 1}, {1, kNan}).marker("l", kRotated4);
    both(int8, "E_SCALE_VALUE FILE: tensor l.weight_scale: element 1 is NaN" + tail);
    const auto w4a8 = [&](const std::string & relative, float channel, float level) {
        TestModel model;
        model.add("l.weight", "I8", {2, 16}).add("l.weight_s_rel", "U8", {2, 2}, relative);
        model.floats("l.weight_s_channel", {2}, {1, channel});
        Floats levels(16);
        levels[15] = level;
        return model.floats("l.weight_codebook", {16}, levels)
            .marker("l", R"({"format":"asym_w4a8_int8","convrot_groupsize":4,"group_size":16})");
    };
    EXPECT_EQ(check(w4a8("1234", 1, 1)), "");
    both(w4a8("12\xff"
              "4",
              1, 1),
         "E_SCALE_VALUE FILE: tensor l.weight_s_rel: element 2 is NaN" + tail);
    both(w4a8("1234", -kInfinity, 1),
         "E_SCALE_VALUE FILE: tensor l.weight_s_channel: element 1 is infinite" + tail);
    both(w4a8("1234", 1, kInfinity),
         "E_SCALE_VALUE FILE: tensor l.weight_codebook: element 15 is infinite" + tail);
}

} // namespace
} // namespace sd
