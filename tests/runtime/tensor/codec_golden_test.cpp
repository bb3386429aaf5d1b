// Blocks written by hand, byte by byte, against values worked out from the public layouts. Each table says
// which byte is set to what and which element must then read as which value.
#include "runtime/tensor/types.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

std::vector<float> decode(ggml_type type, const Bytes & bytes) {
    const ggml::TypeInfo & info = ggml::type_info(type);
    std::vector<float> values(bytes.size() / info.bytes * size_t(info.block));
    info.to_float(bytes.data(), values.data(), int64_t(values.size()));
    return values;
}

struct Probe {
    size_t offset;  // byte of the block
    uint8_t value;  // set to this
    size_t element; // and this element
    float expected; // reads as this
};

// Every element that no probe names keeps the value it has in the base block.
void expect_probes(ggml_type type, const Bytes & base, const std::vector<Probe> & probes) {
    Bytes bytes = base;
    for (const Probe & p : probes) bytes[p.offset] = p.value;
    std::vector<float> expected = decode(type, base);
    for (const Probe & p : probes) expected[p.element] = p.expected;
    const std::vector<float> actual = decode(type, bytes);
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_EQ(actual[i], expected[i]) << "element " << i;
}

void put_half(Bytes & bytes, size_t offset, uint16_t half) { std::memcpy(bytes.data() + offset, &half, 2); }

constexpr uint16_t kOne = 0x3c00, kHalf = 0x3800, kTwo = 0x4000, kMinusOne = 0xbc00;

TEST(q4_0, low_nibbles_are_the_first_half_of_the_block) {
    Bytes block(18, 0x88); // all zeros
    put_half(block, 0, kTwo);
    expect_probes(GGML_TYPE_Q4_0, block,
                  {{2, 0x80, 0, -16.0f}, {3, 0xf8, 17, 14.0f}, {17, 0x18, 31, -14.0f}});
}

TEST(q4_1, offset_is_added) {
    Bytes block(20, 0);
    put_half(block, 0, kTwo);
    put_half(block, 2, kMinusOne);
    expect_probes(GGML_TYPE_Q4_1, block, {{4, 0x0f, 0, 29.0f}, {5, 0x10, 17, 1.0f}, {6, 0x03, 2, 5.0f}});
    EXPECT_EQ(decode(GGML_TYPE_Q4_1, block)[31], -1.0f);
}

TEST(q5_0, fifth_bit_of_element_j_is_bit_j_of_a_little_endian_word) {
    Bytes block(22, 0);
    put_half(block, 0, kOne);
    // Without the fifth bit every element is -16.
    expect_probes(GGML_TYPE_Q5_0, block, {{2, 0x01, 0, 0.0f}, {3, 0x02, 9, 0.0f}, {4, 0x01, 16, 0.0f}});
    expect_probes(GGML_TYPE_Q5_0, block, {{5, 0x80, 31, 0.0f}, {6, 0x0f, 0, -1.0f}, {7, 0xf0, 17, -1.0f}});
}

TEST(q5_1, fifth_bits_lie_as_in_q5_0_and_the_offset_is_added) {
    Bytes block(24, 0);
    put_half(block, 0, kTwo);
    put_half(block, 2, kHalf);
    expect_probes(GGML_TYPE_Q5_1, block, {{4, 0x02, 1, 32.5f}, {6, 0x04, 18, 32.5f}, {8, 0x05, 0, 10.5f}});
    expect_probes(GGML_TYPE_Q5_1, block, {{23, 0x30, 31, 6.5f}, {7, 0x40, 30, 32.5f}});
}

TEST(q8_0, codes_are_signed) {
    Bytes block(34, 0);
    put_half(block, 0, kHalf);
    expect_probes(GGML_TYPE_Q8_0, block, {{2, 0x80, 0, -64.0f}, {33, 0x7f, 31, 63.5f}, {10, 0xff, 8, -0.5f}});
}

TEST(q8_1, sum_does_not_take_part_in_reading) {
    Bytes block(36, 0);
    put_half(block, 0, kOne);
    put_half(block, 2, kTwo);
    expect_probes(GGML_TYPE_Q8_1, block, {{4, 0x81, 0, -127.0f}, {35, 0x7f, 31, 127.0f}});
}

Bytes q2_k_block() {
    Bytes block(84, 0);
    std::memset(block.data(), 0x11, 16);
    put_half(block, 80, kOne);
    put_half(block, 82, kHalf);
    return block;
}

TEST(q2_k, elements_of_a_byte_are_32_apart_inside_of_a_half) {
    const auto values = decode(GGML_TYPE_Q2_K, q2_k_block());
    EXPECT_EQ(values[0], -0.5f); // the offset is subtracted
    Bytes block = q2_k_block();
    block[16 + 0] = 0xe4;  // fields 0, 1, 2, 3
    block[16 + 32] = 0x1b; // fields 3, 2, 1, 0
    const auto read = decode(GGML_TYPE_Q2_K, block);
    for (int field = 0; field < 4; ++field) {
        EXPECT_EQ(read[32 * field], float(field) - 0.5f);
        EXPECT_EQ(read[128 + 32 * field], float(3 - field) - 0.5f);
        EXPECT_EQ(read[32 * field + 1], -0.5f);
    }
}

TEST(q2_k, scale_is_the_low_nibble_and_offset_the_high_one) {
    Bytes block = q2_k_block();
    block[5] = 0x2f;       // group 5: elements 80..95
    block[16 + 16] = 0x20; // element 80: field 2 of byte 16
    const auto read = decode(GGML_TYPE_Q2_K, block);
    EXPECT_EQ(read[80], 2 * 15.0f - 1.0f);
    EXPECT_EQ(read[95], -1.0f);
    EXPECT_EQ(read[96], -0.5f);
}

Bytes q3_k_block() {
    Bytes block(110, 0);
    // Scale 1 is code 33: low nibble 1, upper bits 2.
    std::memset(block.data() + 96, 0x11, 8);
    std::memset(block.data() + 104, 0xaa, 4);
    put_half(block, 108, kOne);
    return block;
}

TEST(q3_k, a_set_high_bit_means_nothing_is_subtracted) {
    const Bytes block = q3_k_block();
    EXPECT_EQ(decode(GGML_TYPE_Q3_K, block)[0], -4.0f);
    expect_probes(GGML_TYPE_Q3_K, block, {{0, 0x01, 0, 0.0f}, {1, 0x02, 33, 0.0f}, {31, 0x80, 255, 0.0f}});
    expect_probes(GGML_TYPE_Q3_K, block,
                  {{32, 0x03, 0, -1.0f}, {33, 0x40, 97, -3.0f}, {95, 0x20, 223, -2.0f}});
}

TEST(q3_k, scales_are_six_bits_in_three_places) {
    Bytes block = q3_k_block();
    block[96 + 3] = 0x5f;  // low nibbles of groups 3 and 11
    block[104 + 3] = 0xe1; // upper bits of groups 3, 7, 11, 15: 1, 0, 2, 3
    const auto read = decode(GGML_TYPE_Q3_K, block);
    EXPECT_EQ(read[16 * 3], -4.0f * (15 + 16 - 32));
    EXPECT_EQ(read[16 * 7], -4.0f * (1 + 0 - 32));
    EXPECT_EQ(read[16 * 11], -4.0f * (5 + 32 - 32));
    EXPECT_EQ(read[16 * 15], -4.0f * (1 + 48 - 32));
    EXPECT_EQ(read[16 * 2], -4.0f);
}

// d 1, dmin 0.5, all scales and offsets 1.
Bytes affine_block(size_t bytes) {
    Bytes block(bytes, 0);
    put_half(block, 0, kOne);
    put_half(block, 2, kHalf);
    std::memset(block.data() + 4, 0x01, 8);
    std::memset(block.data() + 12, 0x11, 4);
    return block;
}

void expect_six_bit_scales(ggml_type type, size_t bytes, size_t qs) {
    Bytes block = affine_block(bytes);
    block[4 + 1] = 0xc5;   // scale of group 1, upper bits of scale 5
    block[8 + 1] = 0x46;   // offset of group 1, upper bits of offset 5
    block[12 + 1] = 0x9a;  // low nibbles of scale (10) and offset (9) of group 5
    block[qs + 0] = 0x10;  // element 32, group 1: code 1
    block[qs + 64] = 0x20; // element 160, group 5: code 2
    const auto read = decode(type, block);
    EXPECT_EQ(read[32], 5.0f - 3.0f);
    EXPECT_EQ(read[33], -3.0f);
    EXPECT_EQ(read[160], 2 * (10.0f + 48) - 0.5f * (9 + 16));
    EXPECT_EQ(read[128], -0.5f);
}

TEST(q4_k, groups_come_in_pairs_that_share_bytes) {
    const Bytes block = affine_block(144);
    EXPECT_EQ(decode(GGML_TYPE_Q4_K, block)[0], -0.5f);
    expect_probes(GGML_TYPE_Q4_K, block,
                  {{16, 0x0f, 0, 14.5f}, {17, 0xf0, 33, 14.5f}, {16 + 127, 0x30, 255, 2.5f}});
    expect_probes(GGML_TYPE_Q4_K, block, {{16 + 31, 0x01, 31, 0.5f}, {16 + 32, 0x02, 64, 1.5f}});
}

TEST(q4_k, scales_of_the_last_four_groups_borrow_upper_bits) {
    expect_six_bit_scales(GGML_TYPE_Q4_K, 144, 16);
}

TEST(q5_k, fifth_bit_of_a_group_is_the_groups_bit) {
    const Bytes block = affine_block(176);
    expect_probes(GGML_TYPE_Q5_K, block,
                  {{16, 0x01, 0, 15.5f}, {17, 0x02, 33, 15.5f}, {47, 0x80, 255, 15.5f}});
    expect_probes(GGML_TYPE_Q5_K, block, {{48, 0x0f, 0, 14.5f}, {48 + 32 + 4, 0xf0, 100, 14.5f}});
}

TEST(q5_k, scales_of_the_last_four_groups_borrow_upper_bits) {
    expect_six_bit_scales(GGML_TYPE_Q5_K, 176, 48);
}

TEST(q6_k, quarters_of_a_half_share_bytes) {
    Bytes block(210, 0);
    std::memset(block.data() + 192, 1, 16);
    put_half(block, 208, kOne);
    EXPECT_EQ(decode(GGML_TYPE_Q6_K, block)[0], -32.0f);
    expect_probes(GGML_TYPE_Q6_K, block,
                  {{0, 0x0f, 0, -17.0f}, {33, 0x05, 33, -27.0f}, {2, 0x30, 66, -29.0f}});
    expect_probes(GGML_TYPE_Q6_K, block,
                  {{35, 0x40, 99, -28.0f}, {64, 0x01, 128, -31.0f}, {127, 0xf0, 255, -17.0f}});
    expect_probes(GGML_TYPE_Q6_K, block,
                  {{128, 0x03, 0, 16.0f}, {129, 0x04, 33, -16.0f}, {130, 0x20, 66, 0.0f}});
    expect_probes(GGML_TYPE_Q6_K, block, {{131, 0xc0, 99, 16.0f}, {160, 0x01, 128, -16.0f}});
}

TEST(q6_k, scales_are_signed_and_serve_16_elements) {
    Bytes block(210, 0);
    put_half(block, 208, kOne);
    block[192 + 9] = 0xfe; // group 9: elements 144..159
    const auto read = decode(GGML_TYPE_Q6_K, block);
    EXPECT_EQ(read[144], 64.0f);
    EXPECT_EQ(read[159], 64.0f);
    EXPECT_EQ(read[160], 0.0f);
}

TEST(q8_k, scale_is_a_float_in_front) {
    Bytes block(292, 0);
    const float d = 0.125f;
    std::memcpy(block.data(), &d, 4);
    expect_probes(GGML_TYPE_Q8_K, block, {{4, 0x81, 0, -15.875f}, {259, 0x7f, 255, 15.875f}});
    block[260] = 0xff; // sums do not take part in reading
    EXPECT_EQ(decode(GGML_TYPE_Q8_K, block)[0], 0.0f);
}

TEST(q4_0, is_written_as_ggml_rounds) {
    float x[32] = {};
    x[0] = -8.0f; // the extreme: d = 1
    x[1] = 7.5f;  // a tie at the top is cut to 15
    x[2] = 0.5f;  // ties go up
    x[3] = -0.5f;
    x[16] = 6.49f;
    Bytes block(18);
    ggml_quantize_chunk(GGML_TYPE_Q4_0, x, block.data(), 0, 1, 32, nullptr);
    Bytes expected(18, 0x88);
    put_half(expected, 0, kOne);
    expected[2] = 0xe0;
    expected[3] = 0x8f;
    expected[4] = 0x89;
    EXPECT_EQ(block, expected);
}

TEST(q8_0, is_written_with_ties_away_from_zero) {
    float x[32] = {};
    x[0] = 127.0f;
    x[1] = 0.5f;
    x[2] = -0.5f;
    x[3] = 1.5f;
    x[4] = -2.5f;
    x[5] = 0.49999997f;
    Bytes block(34);
    ggml_quantize_chunk(GGML_TYPE_Q8_0, x, block.data(), 0, 1, 32, nullptr);
    Bytes expected(34, 0);
    put_half(expected, 0, kOne);
    const uint8_t codes[] = {127, 1, 0xff, 2, 0xfd, 0};
    std::memcpy(expected.data() + 2, codes, sizeof(codes));
    EXPECT_EQ(block, expected);
}

TEST(q8_1, stores_the_sum_times_the_unrounded_scale) {
    float x[32] = {};
    x[0] = 1.0f;
    x[1] = 0.5f;
    Bytes block(36);
    ggml_quantize_chunk(GGML_TYPE_Q8_1, x, block.data(), 0, 1, 32, nullptr);
    const float d = 1.0f / 127.0f;
    uint16_t stored[2];
    std::memcpy(stored, block.data(), 4);
    EXPECT_EQ(stored[0], ggml_fp32_to_fp16(d));
    EXPECT_EQ(stored[1], ggml_fp32_to_fp16(float(127 + 64) * d));
}

TEST(q8_k, stores_the_sums_of_16_codes) {
    std::vector<float> x(256);
    for (int i = 0; i < 256; ++i) x[i] = float(i - 128) / 3.0f;
    Bytes block(292);
    ggml_quantize_chunk(GGML_TYPE_Q8_K, x.data(), block.data(), 0, 1, 256, nullptr);
    for (int g = 0; g < 16; ++g) {
        int sum = 0;
        for (int l = 0; l < 16; ++l) sum += int8_t(block[4 + 16 * g + l]);
        int16_t stored;
        std::memcpy(&stored, block.data() + 260 + 2 * g, 2);
        EXPECT_EQ(stored, sum) << g;
    }
}

} // namespace
