#include "tests/runtime/tensor/fixture.h"

#include "tests/support/log_capture.h"

#include <cstring>

namespace {

using ggml::test::encode;
using ggml::test::Numbers;

// Where each type keeps its half-precision numbers.
struct ScaleField {
    ggml_type type;
    std::vector<size_t> offsets;
};

const ScaleField kFields[] = {
    {GGML_TYPE_F16, {0}},     {GGML_TYPE_Q4_0, {0}},    {GGML_TYPE_Q4_1, {0, 2}}, {GGML_TYPE_Q5_0, {0}},
    {GGML_TYPE_Q5_1, {0, 2}}, {GGML_TYPE_Q8_0, {0}},    {GGML_TYPE_Q8_1, {0, 2}}, {GGML_TYPE_Q2_K, {80, 82}},
    {GGML_TYPE_Q3_K, {108}},  {GGML_TYPE_Q4_K, {0, 2}}, {GGML_TYPE_Q5_K, {0, 2}}, {GGML_TYPE_Q6_K, {208}},
};

class Validate : public testing::Test {
  protected:
    ggml::test::LogCapture log;

    bool is_valid(ggml_type type, const std::vector<uint8_t> & bytes) {
        log.text.clear();
        return ggml_validate_row_data(type, bytes.data(), bytes.size());
    }
};

TEST_F(Validate, accepts_what_the_codecs_write) {
    const auto x = Numbers(1).bells(512);
    for (int id = 0; id < GGML_TYPE_COUNT; ++id) {
        const auto type = ggml_type(id);
        const ggml_type_traits * traits = ggml_get_type_traits(type);
        if (traits->to_float == nullptr && traits->is_quantized) continue;
        if (traits->blck_size == 0) continue;
        EXPECT_TRUE(is_valid(type, encode(type, x))) << traits->type_name;
        EXPECT_EQ(log.text, "");
    }
}

TEST_F(Validate, refuses_nan_and_infinity_in_every_scale_and_names_the_block) {
    const auto x = Numbers(2).bells(512);
    for (const ScaleField & field : kFields) {
        const size_t block_bytes = ggml_type_size(field.type);
        for (const size_t offset : field.offsets) {
            for (const uint16_t bad : {0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff}) {
                auto bytes = encode(field.type, x);
                std::memcpy(&bytes[block_bytes + offset], &bad, 2);
                EXPECT_FALSE(is_valid(field.type, bytes)) << ggml_type_name(field.type) << " " << offset;
                EXPECT_NE(log.text.find("block 1 "), std::string::npos);
            }
            const uint16_t largest = 0x7bff;
            auto bytes = encode(field.type, x);
            std::memcpy(&bytes[block_bytes + offset], &largest, 2);
            EXPECT_TRUE(is_valid(field.type, bytes));
        }
    }
}

template <class T, class Bits>
void expect_bad(ggml_type type, std::initializer_list<Bits> bad) {
    for (const Bits bits : bad) {
        std::vector<uint8_t> bytes(4 * sizeof(T));
        EXPECT_TRUE(ggml_validate_row_data(type, bytes.data(), bytes.size()));
        std::memcpy(&bytes[3 * sizeof(T)], &bits, sizeof(T));
        EXPECT_FALSE(ggml_validate_row_data(type, bytes.data(), bytes.size()));
    }
}

TEST_F(Validate, refuses_nan_and_infinity_among_plain_numbers) {
    expect_bad<float, uint32_t>(GGML_TYPE_F32, {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u});
    expect_bad<double, uint64_t>(GGML_TYPE_F64, {0x7ff0000000000000u, 0xfff8000000000000u});
    expect_bad<uint16_t, uint16_t>(GGML_TYPE_BF16, {0x7f80, 0xff80, 0x7fc0, 0x7f81});
}

TEST_F(Validate, reads_f64_values_beyond_the_range_of_float_as_numbers) {
    const double big = 1e300;
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_F64, &big, sizeof(big)));
}

TEST_F(Validate, refuses_a_nan_in_the_float_scale_of_q8_k) {
    auto bytes = encode(GGML_TYPE_Q8_K, Numbers(3).bells(256));
    const uint32_t bad = 0x7fc00000u;
    std::memcpy(bytes.data(), &bad, 4);
    EXPECT_FALSE(is_valid(GGML_TYPE_Q8_K, bytes));
}

TEST_F(Validate, refuses_partial_blocks) {
    for (const ggml_type type : ggml::test::quantized_types()) {
        auto bytes = encode(type, Numbers(4).bells(256));
        bytes.pop_back();
        EXPECT_FALSE(is_valid(type, bytes)) << ggml_type_name(type);
        EXPECT_NE(log.text.find("no whole number"), std::string::npos);
    }
    EXPECT_FALSE(is_valid(GGML_TYPE_F32, std::vector<uint8_t>(5)));
}

TEST_F(Validate, accepts_any_integer_and_no_data_at_all) {
    EXPECT_TRUE(is_valid(GGML_TYPE_I8, std::vector<uint8_t>(3, 0xff)));
    EXPECT_TRUE(is_valid(GGML_TYPE_I64, std::vector<uint8_t>(16, 0xff)));
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_Q4_0, nullptr, 0));
}

TEST_F(Validate, refuses_types_that_cannot_be_read) {
    for (const int id : {-1, 4, 16, 39, 42, 43}) {
        EXPECT_FALSE(is_valid(ggml_type(id), {}));
        EXPECT_NE(log.text.find("cannot be read"), std::string::npos);
    }
}

TEST_F(Validate, takes_data_at_any_address) {
    auto bytes = encode(GGML_TYPE_Q8_K, Numbers(5).bells(256));
    bytes.insert(bytes.begin(), 0);
    EXPECT_TRUE(ggml_validate_row_data(GGML_TYPE_Q8_K, bytes.data() + 1, bytes.size() - 1));
}

} // namespace
