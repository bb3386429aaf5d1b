// The per-instruction-set parts of the integer product agree with their portable definitions, bit for bit.
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ggml::test {
namespace {

using cpu::matmul::ActBlock;
using cpu::matmul::quant_kernels;

std::vector<float> awkward_values() {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    std::vector<float> x;
    uint32_t state = 7;
    for (int block = 0; block < 64; ++block) {
        // Magnitudes from subnormal to the largest, ties of rounding, and blocks with one special value.
        const float scale = std::ldexp(1.0f, block * 4 - 130);
        for (int i = 0; i < 32; ++i) {
            state = state * 1664525u + 1013904223u;
            x.push_back(block % 3 == 0 ? scale * float(int(state >> 24) - 128) / 2
                                       : scale * float(int32_t(state)) * 0x1p-31f);
        }
    }
    x[5] = NAN, x[40] = kInf, x[75] = -kInf, x[100] = -0.0f;
    for (int i = 0; i < 32; ++i) x[size_t(20 * 32 + i)] = 0.0f;
    x[21 * 32] = std::numeric_limits<float>::max();
    return x;
}

TEST(quant_kernels, quantize_activations_bit_identically_at_every_level) {
    const std::vector<float> x = awkward_values();
    const int64_t blocks = int64_t(x.size()) / 32;
    for_each_isa([&](cpu::Isa isa) {
        for (int shared : {1, 8}) {
            for (int64_t stride : {1, 6}) {
                std::vector<ActBlock> out(size_t(blocks * stride)), expected(size_t(blocks * stride));
                quant_kernels().quantize(x.data(), blocks, shared, out.data(), stride);
                for (int64_t b = 0; b < blocks; b += shared)
                    quantize_act_blocks(x.data() + 32 * b, shared, &expected[size_t(b * stride)], stride);
                for (size_t b = 0; b < out.size(); b += size_t(stride)) {
                    EXPECT_EQ(std::memcmp(&expected[b], &out[b], sizeof expected[b]), 0)
                        << cpu::isa_name(isa) << " shared " << shared << " stride " << stride << " at " << b;
                }
            }
        }
    });
}

TEST(quant_kernels, give_blocks_that_share_a_scale_the_one_of_their_largest_value) {
    std::vector<float> x(256, 0.5f);
    x[200] = -2.0f;
    std::vector<ActBlock> out(8);
    quant_kernels().quantize(x.data(), 8, 8, out.data(), 1);
    for (const ActBlock & block : out) {
        EXPECT_EQ(block.d, 2.0f / 127.0f);
        EXPECT_EQ(block.q[0], 32); // 31.75
    }
    EXPECT_EQ(out[6].q[8], -127);
    EXPECT_EQ(out[6].correction[0], 15 * 32 - 127);
    EXPECT_EQ(out[6].correction[1], 16 * 32);
}

TEST(quant_kernels, open_panels_identically_at_every_level) {
    for (ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                           GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K}) {
        const cpu::matmul::QuantInfo info = cpu::matmul::quant_info(type);
        const int64_t blocks = 16;
        OpCheck op;
        const ggml_tensor * w = op.input(type, {blocks * 32, 16, 1, 1});
        const void * rows[cpu::matmul::kPanelRows];
        for (int r = 0; r < cpu::matmul::kPanelRows; ++r)
            rows[r] = static_cast<char *>(w->data) + size_t(r) * w->nb[1];
        const size_t bytes = size_t(blocks) * cpu::matmul::panel_block_bytes(info.groups, info.minimum);
        // Vector stores into panels are aligned.
        struct alignas(64) Line {
            uint8_t bytes[64];
        };
        std::vector<Line> expected(bytes / 64), actual(bytes / 64);
        cpu::matmul::quant_kernels_portable().pack[info.index](rows, 0, blocks, expected[0].bytes);
        for_each_isa([&](cpu::Isa isa) {
            std::memset(static_cast<void *>(actual.data()), 0xee, bytes);
            quant_kernels().pack[info.index](rows, 0, blocks, actual[0].bytes);
            EXPECT_EQ(std::memcmp(expected.data(), actual.data(), bytes), 0)
                << ggml_type_name(type) << " " << cpu::isa_name(isa);
        });
    }
}

} // namespace
} // namespace ggml::test
