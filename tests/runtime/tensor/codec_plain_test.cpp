#include "runtime/tensor/types.h"

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> written(ggml_type type, const std::vector<float> & x) {
    std::vector<T> out(x.size());
    ggml::type_info(type).from_float(x.data(), out.data(), int64_t(x.size()));
    return out;
}

template <class T>
std::vector<float> read(ggml_type type, const std::vector<T> & x) {
    std::vector<float> out(x.size());
    ggml::type_info(type).to_float(x.data(), out.data(), int64_t(x.size()));
    return out;
}

template <class Integer>
void expect_saturation(ggml_type type) {
    using Limits = std::numeric_limits<Integer>;
    const auto codes = written<Integer>(type, {1e30f, -1e30f, kInf, -kInf, kNaN, 1.99f, -1.99f, -0.0f});
    const std::vector<Integer> expected = {
        Limits::max(), Limits::min(), Limits::max(), Limits::min(), 0, 1, -1, 0};
    EXPECT_EQ(codes, expected);
}

TEST(plain, integers_saturate_drop_fractions_and_take_nan_as_zero) {
    expect_saturation<int8_t>(GGML_TYPE_I8);
    expect_saturation<int16_t>(GGML_TYPE_I16);
    expect_saturation<int32_t>(GGML_TYPE_I32);
    expect_saturation<int64_t>(GGML_TYPE_I64);
}

TEST(plain, integers_at_the_limits_survive) {
    EXPECT_EQ(written<int8_t>(GGML_TYPE_I8, {127.0f, -128.0f, 127.9f}),
              (std::vector<int8_t>{127, -128, 127}));
    EXPECT_EQ(written<int32_t>(GGML_TYPE_I32, {2147483520.0f, 2147483648.0f, -2147483648.0f}),
              (std::vector<int32_t>{2147483520, INT32_MAX, INT32_MIN}));
}

TEST(plain, integers_are_read_as_the_nearest_float) {
    EXPECT_EQ(read<int8_t>(GGML_TYPE_I8, {-128, 127}), (std::vector<float>{-128.0f, 127.0f}));
    EXPECT_EQ(read<int16_t>(GGML_TYPE_I16, {INT16_MIN}), (std::vector<float>{-32768.0f}));
    EXPECT_EQ(read<int32_t>(GGML_TYPE_I32, {16777217, INT32_MAX}),
              (std::vector<float>{16777216.0f, 0x1p31f}));
    EXPECT_EQ(read<int64_t>(GGML_TYPE_I64, {INT64_MIN}), (std::vector<float>{-0x1p63f}));
}

TEST(plain, doubles_round_to_the_nearest_float_and_back_without_loss) {
    EXPECT_EQ(read<double>(GGML_TYPE_F64, {0.1, 1e300, -1e-300}), (std::vector<float>{0.1f, kInf, -0.0f}));
    EXPECT_EQ(written<double>(GGML_TYPE_F64, {0.1f}), (std::vector<double>{double(0.1f)}));
}

TEST(plain, floats_are_copied_bit_for_bit) {
    const std::vector<float> x = {-0.0f, kNaN, 1e-45f};
    const auto copy = read<float>(GGML_TYPE_F32, x);
    EXPECT_TRUE(std::signbit(copy[0]));
    EXPECT_TRUE(std::isnan(copy[1]));
    EXPECT_EQ(copy[2], 1e-45f);
}

TEST(plain, rows_of_no_elements_are_left_alone) {
    for (int id = 0; id < GGML_TYPE_COUNT; ++id) {
        const ggml::TypeInfo & info = ggml::type_info(ggml_type(id));
        if (info.to_float == nullptr) continue;
        info.to_float(nullptr, nullptr, 0);
        info.from_float(nullptr, nullptr, 0);
    }
    SUCCEED();
}

} // namespace
