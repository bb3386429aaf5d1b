#include "tests/runtime/tensor/fixture.h"

#include "tests/support/log_capture.h"

#include <cmath>
#include <limits>
#include <map>

namespace {

using ggml::test::encode;
using ggml::test::Numbers;
using ggml::test::quantized_types;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> decode(ggml_type type, const std::vector<uint8_t> & bytes, size_t n) {
    std::vector<float> values(n);
    ggml_get_type_traits(type)->to_float(bytes.data(), values.data(), int64_t(n));
    return values;
}

double weighted_error(const std::vector<float> & a, const std::vector<float> & b,
                      const std::vector<float> & weight) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += weight[i] * double(a[i] - b[i]) * double(a[i] - b[i]);
    return sum;
}

double relative_rms_error(ggml_type type, const std::vector<float> & x) {
    const auto back = decode(type, encode(type, x), x.size());
    const std::vector<float> ones(x.size(), 1.0f);
    return std::sqrt(weighted_error(x, back, ones) / weighted_error(x, std::vector<float>(x.size()), ones));
}

uint64_t fnv1a(const std::vector<uint8_t> & bytes) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
    return hash;
}

// Root mean square error relative to the signal, for bell-shaped values. Measured values plus five percent.
const std::map<ggml_type, double> kRelativeError = {
    {GGML_TYPE_Q4_0, 0.0853}, {GGML_TYPE_Q4_1, 0.0778},  {GGML_TYPE_Q5_0, 0.0432},
    {GGML_TYPE_Q5_1, 0.0381}, {GGML_TYPE_Q8_0, 0.00543}, {GGML_TYPE_Q8_1, 0.00543},
    {GGML_TYPE_Q2_K, 0.302},  {GGML_TYPE_Q3_K, 0.153},   {GGML_TYPE_Q4_K, 0.0712},
    {GGML_TYPE_Q5_K, 0.036},  {GGML_TYPE_Q6_K, 0.0178},  {GGML_TYPE_Q8_K, 0.00664}};

TEST(quantize, error_stays_within_the_types_bound_at_every_magnitude) {
    for (const ggml_type type : quantized_types()) {
        for (const float scale : {0.05f, 1.0f, 1e3f}) {
            const double error = relative_rms_error(type, Numbers(7).bells(4096, scale));
            EXPECT_LE(error, kRelativeError.at(type)) << ggml_type_name(type) << " at " << scale;
        }
    }
}

// Every value lies within half a step, plus what rounding the scale to half precision moves the largest code.
TEST(quantize, every_value_of_the_simple_types_lies_within_half_a_step) {
    struct {
        ggml_type type;
        int codes;        // steps between the smallest and the largest value
        float step_slack; // Q4_0 and Q5_0 cut the side opposite to the extreme by up to a whole step
    } const cases[] = {{GGML_TYPE_Q4_0, 16, 1.0f},
                       {GGML_TYPE_Q4_1, 15, 0.5f},
                       {GGML_TYPE_Q5_0, 32, 1.0f},
                       {GGML_TYPE_Q5_1, 31, 0.5f},
                       {GGML_TYPE_Q8_0, 254, 0.5f}};
    for (const auto & c : cases) {
        const auto x = Numbers(8).bells(4096);
        const auto back = decode(c.type, encode(c.type, x), x.size());
        for (size_t block = 0; block < x.size(); block += 32) {
            float largest = 0, low = x[block], high = x[block];
            for (size_t i = block; i < block + 32; ++i) {
                largest = std::max(largest, std::fabs(x[i]));
                low = std::min(low, x[i]);
                high = std::max(high, x[i]);
            }
            const bool affine = c.type == GGML_TYPE_Q4_1 || c.type == GGML_TYPE_Q5_1;
            const float range = affine ? high - low : 2 * largest;
            const float bound = c.step_slack * range / float(c.codes) + 2 * (range + largest) * 0x1p-11f;
            for (size_t i = block; i < block + 32; ++i) {
                ASSERT_LE(std::fabs(back[i] - x[i]), bound) << ggml_type_name(c.type) << " " << i;
            }
        }
    }
}

TEST(quantize, importance_lowers_the_error_it_weights) {
    Numbers numbers(9);
    const auto x = numbers.bells(4096);
    std::vector<float> importance(x.size());
    for (float & w : importance) w = std::pow(numbers.uniform(), 4.0f) + 1e-3f;
    for (const ggml_type type :
         {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K,
          GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K}) {
        const auto plain = decode(type, encode(type, x), x.size());
        const auto weighted = decode(type, encode(type, x, importance.data()), x.size());
        EXPECT_LT(weighted_error(x, weighted, importance), weighted_error(x, plain, importance))
            << ggml_type_name(type);
    }
}

TEST(quantize, importance_does_not_matter_for_eight_bits_and_plain_types) {
    const auto x = Numbers(10).bells(512);
    const std::vector<float> importance(512, 3.0f);
    for (const ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32}) {
        EXPECT_EQ(encode(type, x), encode(type, x, importance.data())) << ggml_type_name(type);
    }
}

TEST(quantize, zeros_stay_zeros) {
    const std::vector<float> zeros(512);
    const std::vector<float> importance(512, 1.0f);
    for (const ggml_type type : quantized_types()) {
        for (const float * weights : {static_cast<const float *>(nullptr), importance.data()}) {
            for (const float v : decode(type, encode(type, zeros, weights), 512)) {
                ASSERT_EQ(v, 0.0f) << ggml_type_name(type);
            }
        }
    }
}

TEST(quantize, values_too_small_for_the_scale_become_zeros) {
    for (const ggml_type type : quantized_types()) {
        if (type == GGML_TYPE_Q8_K) continue; // its scale is a float
        for (const float tiny : {1e-12f, 1e-30f, 1e-42f}) {
            for (const float v : decode(type, encode(type, Numbers(11).bells(256, tiny)), 256)) {
                ASSERT_EQ(v, 0.0f) << ggml_type_name(type) << " " << tiny;
            }
        }
    }
}

TEST(quantize, a_block_that_cannot_be_represented_reads_as_nan_and_spares_its_neighbours) {
    const ggml::test::LogCapture quiet;
    const std::vector<float> importance(768, 1.0f);
    for (const ggml_type type : quantized_types()) {
        const size_t block = size_t(ggml_blck_size(type));
        for (const float bad : {kNaN, kInf, -kInf, 3e38f}) {
            if (type == GGML_TYPE_Q8_K && std::isfinite(bad)) continue;
            for (const float * weights : {static_cast<const float *>(nullptr), importance.data()}) {
                auto x = Numbers(12).bells(768);
                x[block + block / 3] = bad;
                const auto bytes = encode(type, x, weights);
                const auto back = decode(type, bytes, x.size());
                for (size_t i = 0; i < x.size(); ++i) {
                    ASSERT_EQ(std::isnan(back[i]), i / block == 1) << ggml_type_name(type) << " " << i;
                }
                EXPECT_FALSE(ggml_validate_row_data(type, bytes.data(), bytes.size()));
            }
        }
    }
}

TEST(quantize, chunks_of_rows_give_the_bytes_of_the_whole) {
    const auto x = Numbers(13).bells(5 * 512);
    const auto importance = Numbers(14).bells(512);
    std::vector<float> weights(512);
    for (size_t i = 0; i < 512; ++i) weights[i] = std::fabs(importance[i]);
    for (const ggml_type type :
         {GGML_TYPE_Q4_0, GGML_TYPE_Q6_K, GGML_TYPE_Q8_0, GGML_TYPE_F16, GGML_TYPE_F32}) {
        const size_t row = ggml_row_size(type, 512);
        std::vector<uint8_t> whole(5 * row), parts(5 * row);
        EXPECT_EQ(ggml_quantize_chunk(type, x.data(), whole.data(), 0, 5, 512, weights.data()), 5 * row);
        EXPECT_EQ(ggml_quantize_chunk(type, x.data(), parts.data(), 2 * 512, 3, 512, weights.data()),
                  3 * row);
        EXPECT_EQ(ggml_quantize_chunk(type, x.data(), parts.data(), 0, 2, 512, weights.data()), 2 * row);
        EXPECT_EQ(whole, parts) << ggml_type_name(type);
        EXPECT_EQ(ggml_quantize_chunk(type, x.data(), parts.data(), 0, 0, 512, nullptr), 0u);
    }
}

TEST(quantize_death_test, refuses_types_and_starts_it_cannot_serve) {
    std::vector<float> x(512);
    std::vector<uint8_t> out(4096);
    EXPECT_DEATH(ggml_quantize_chunk(GGML_TYPE_IQ4_NL, x.data(), out.data(), 0, 1, 256, nullptr),
                 "type iq4_nl cannot be written");
    EXPECT_DEATH(ggml_quantize_chunk(GGML_TYPE_Q4_0, x.data(), out.data(), 32, 1, 256, nullptr), "start 32");
    EXPECT_DEATH(ggml_quantize_chunk(GGML_TYPE_Q4_K, x.data(), out.data(), 0, 1, 128, nullptr),
                 "128 elements");
}

TEST(quantize, needs_importance_only_for_types_that_have_no_codec) {
    for (int id = 0; id < GGML_TYPE_COUNT; ++id) {
        if (ggml_get_type_traits(ggml_type(id))->to_float == nullptr) continue;
        EXPECT_FALSE(ggml_quantize_requires_imatrix(ggml_type(id)));
    }
    EXPECT_TRUE(ggml_quantize_requires_imatrix(GGML_TYPE_IQ2_XXS));
    ggml_quantize_init(GGML_TYPE_Q4_K);
    ggml_quantize_free();
}

// Files must not depend on compiler, processor or optimisation level.
TEST(quantize, writes_the_same_bytes_on_every_machine) {
    struct {
        ggml_type type;
        uint64_t plain, weighted;
    } const expected[] = {
        {GGML_TYPE_Q4_0, 0x4f6f8c6ec211cbc4u, 0x3ffe4ed75e0a6043u},
        {GGML_TYPE_Q4_1, 0x0ad86a86495b98ffu, 0xfbd621b5a5302bbau},
        {GGML_TYPE_Q5_0, 0xaafbe9265e407017u, 0xf0ffd57fd190ff94u},
        {GGML_TYPE_Q5_1, 0x95ccb9cd507802cau, 0x7c3e9fedd4b31bd5u},
        {GGML_TYPE_Q8_0, 0xea94b6f667ab9483u, 0xea94b6f667ab9483u},
        {GGML_TYPE_Q8_1, 0x62f20f897c8cc201u, 0x62f20f897c8cc201u},
        {GGML_TYPE_Q2_K, 0x381dac0c6e0d7f83u, 0xc8cfada8e798c14du},
        {GGML_TYPE_Q3_K, 0x11fe3170f2898342u, 0xc9967275bc391060u},
        {GGML_TYPE_Q4_K, 0x23757603c625d6a5u, 0x960824b46de41f0eu},
        {GGML_TYPE_Q5_K, 0x39835c18babdc472u, 0x4cf296a0718f7719u},
        {GGML_TYPE_Q6_K, 0xbc861e5bebf05720u, 0x1461445bc99fd1c2u},
        {GGML_TYPE_Q8_K, 0x2814b0e3642d0e4fu, 0x2814b0e3642d0e4fu},
    };
    Numbers numbers(15);
    auto x = numbers.bells(4096);
    for (size_t i = 0; i < x.size(); i += 97) x[i] *= 8.0f; // outliers
    std::vector<float> importance(x.size());
    for (float & w : importance) w = numbers.uniform() + 0x1p-10f;
    for (const auto & e : expected) {
        EXPECT_EQ(fnv1a(encode(e.type, x)), e.plain) << ggml_type_name(e.type);
        EXPECT_EQ(fnv1a(encode(e.type, x, importance.data())), e.weighted) << ggml_type_name(e.type);
    }
}

} // namespace
