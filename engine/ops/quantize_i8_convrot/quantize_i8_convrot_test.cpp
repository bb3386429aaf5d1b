#include "ops/quantize_i8_convrot/schema.h"

#include "ops/quantize_i8_convrot/fuse_test.h"
#include "tests/support/log_capture.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

namespace sd::test {
namespace {

const std::vector<std::string> kNames = {
#define X(name, entry) name,
#include "ops/quantize_i8_convrot/kernels.inc"
#undef X
};

constexpr int kGroups[] = {1, 4, 16, 64, 256, 1024, 4096};

// A result taken apart.
struct Rows8 {
    PackedRows packed;
    std::vector<uint8_t> bytes;

    Rows8(const Outcome & outcome, const ggml_tensor * x)
        : packed(PackedRows::of(x->ne[0], ggml_nrows(x))), bytes(outcome.bytes) {
        EXPECT_EQ(outcome.status, GGML_STATUS_SUCCESS);
        EXPECT_EQ(outcome.ne, (Sizes{packed.k, packed.total_rows(), 1, 1}));
        bytes.resize(size_t(packed.k * packed.total_rows()), 0x55);
    }
    int code(int64_t row, int64_t i) const { return int8_t(bytes[size_t(row * packed.k + i)]); }
    float scale(int64_t row) const {
        float value = 0;
        std::memcpy(&value, &bytes[size_t(packed.scale_offset() + 4 * row)], sizeof(value));
        return value;
    }
};

Build quantized(ggml_tensor * x, int group) {
    return [=](ggml_context * ctx) { return ggml_quantize_i8_convrot(ctx, x, group); };
}

Rows8 quantize(ggml_tensor * x, int group) { return {run(quantized(x, group)), x}; }

// Every kernel at every instruction set on one to three threads, over what was in the result's memory before.
void check(ggml_tensor * x, int group, const std::string & what) {
    const Build build = quantized(x, group);
    const Outcome expected = reference(build, quantize_i8_convrot_reference);
    Inputs in;
    ggml_tensor * memory = in.bytes({std::max<int64_t>(int64_t(expected.bytes.size()), 1), 1, 1, 1});
    for (const std::string & name : kNames) {
        ggml::test::for_each_isa([&](ggml::cpu::Isa isa) {
            for (const int n_threads : {1, 2, 3}) {
                RunOptions options = {.n_threads = n_threads, .disabled = all_but(kNames, name)};
                options.result_in = memory;
                expect_same_bytes(run(build, options), expected,
                                  what + ", " + name + ", " + ggml::cpu::isa_name(isa) + ", " +
                                      std::to_string(n_threads) + " threads");
            }
        });
    }
}

TEST(quantize_i8_convrot, has_the_signs_of_order_four) {
    Inputs in;
    ggml_tensor * x = in.tensor(GGML_TYPE_F32, {4, 4, 1, 1});
    for (int i = 0; i < 4; ++i) at(x, i, i) = 2.0f;
    constexpr int kSigns[4][4] = {{1, 1, 1, -1}, {1, 1, -1, 1}, {1, -1, 1, 1}, {-1, 1, 1, 1}};
    const Rows8 got = quantize(x, 4);
    for (int row = 0; row < 4; ++row) {
        EXPECT_EQ(got.scale(row), 1.0f / 127.0f);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(got.code(row, i), 127 * kSigns[row][i]) << row << i;
    }
    check(x, 4, "unit vectors");
}

TEST(quantize_i8_convrot, gives_products_of_one_for_the_simplest_layers) {
    // The weights 127 at one place, scale 1 / 127, against x = sqrt(group) at place 0.
    const auto product = [](int group, int weight_at) {
        Inputs in;
        ggml_tensor * x = in.tensor(GGML_TYPE_F32, {group, 1, 1, 1});
        at(x, 0) = std::sqrt(float(group));
        const Rows8 got = quantize(x, group);
        return float(got.code(0, weight_at) * 127) * got.scale(0) * (1.0f / 127.0f);
    };
    EXPECT_FLOAT_EQ(product(4, 0), 1.0f) << "2 when the rotation is left out";
    EXPECT_FLOAT_EQ(product(16, 0), 1.0f);
    EXPECT_FLOAT_EQ(product(4, 3), -1.0f) << "1 with the ordinary Hadamard matrix";
}

TEST(quantize_i8_convrot, gives_the_bytes_of_the_reference_for_every_length) {
    for (const int64_t k : {1, 2, 3, 5, 15, 17, 31, 33, 100}) {
        Inputs in{uint32_t(k)};
        check(in.floats({k, 6, 1, 1}), 1, "plain, k " + std::to_string(k));
    }
    for (const int64_t k : {4, 8, 12, 20, 28, 36, 68, 132}) {
        Inputs in{uint32_t(k)};
        ggml_tensor * x = in.floats({k, 5, 1, 1});
        check(x, 4, "k " + std::to_string(k));
        check(x, 1, "plain, k " + std::to_string(k));
    }
    for (const int group : {16, 64, 256, 1024, 4096}) {
        for (const int64_t groups : {1, 3, 4}) {
            Inputs in{uint32_t(group)};
            check(in.floats({group * groups, 7, 1, 1}), group, "group " + std::to_string(group));
        }
    }
}

TEST(quantize_i8_convrot, pads_every_number_of_rows) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 8, 9}) {
        for (const int64_t k : {1, 4, 16, 272}) {
            Inputs in{uint32_t(rows)};
            ggml_tensor * x = in.floats({k, rows, 1, 1});
            check(x, 1, "rows " + std::to_string(rows) + ", k " + std::to_string(k));
            const Rows8 got = quantize(x, 1);
            EXPECT_EQ(got.packed.padded_rows % 4, 0);
            EXPECT_GE(got.packed.scale_rows() * k, 4 * got.packed.padded_rows);
            for (int64_t row = rows; row < got.packed.padded_rows; ++row) {
                EXPECT_EQ(got.scale(row), 0.0f);
                for (int64_t i = 0; i < k; ++i) EXPECT_EQ(got.code(row, i), 0);
            }
            const size_t used = size_t(got.packed.scale_offset() + 4 * rows);
            EXPECT_TRUE(
                std::all_of(got.bytes.begin() + long(used), got.bytes.end(), [](int b) { return b == 0; }));
        }
    }
}

TEST(quantize_i8_convrot, rounds_ties_to_even) {
    // The scale is 2^-3, and all but the first quotient are half integers.
    Inputs in;
    ggml_tensor * x = in.tensor(GGML_TYPE_F32, {64, 1, 1, 1});
    for (int i = 0; i < 64; ++i) at(x, i) = (float(i * 4 - 126) + 0.5f) * 0.125f;
    at(x, 0) = 127 * 0.125f;
    check(x, 1, "ties");
    const Rows8 got = quantize(x, 1);
    EXPECT_EQ(got.scale(0), 0.125f);
    for (int i = 1; i < 64; ++i) {
        EXPECT_EQ(got.code(0, i) % 2, 0) << i;
        EXPECT_EQ(std::fabs(float(got.code(0, i)) - at(x, i) * 8), 0.5f) << i;
    }
}

TEST(quantize_i8_convrot, reaches_both_ends_and_never_passes_them) {
    Inputs in;
    ggml_tensor * x = in.tensor(GGML_TYPE_F32, {256, 40, 1, 1});
    for (int64_t row = 0; row < 40; ++row) {
        // Maxima of all kinds of mantissas: rounding of scale and inverse must not lead to 128.
        const float top = std::ldexp(1.0f + float(row) / 41.0f, int(row) * 5 - 100);
        for (int64_t i = 0; i < 256; ++i) at(x, i, row) = (i * 37 + row) % 3 == 0 ? -top : top;
    }
    check(x, 1, "extreme");
    const Rows8 got = quantize(x, 1);
    for (int64_t row = 0; row < 40; ++row)
        for (int64_t i = 0; i < 256; ++i) ASSERT_EQ(got.code(row, i), at(x, i, row) < 0 ? -127 : 127);
    // One spike spreads over its group alone, evenly.
    ggml_tensor * spike = in.tensor(GGML_TYPE_F32, {512, 1, 1, 1});
    at(spike, 300) = -1e4f;
    check(spike, 256, "spike");
    const Rows8 spread = quantize(spike, 256);
    for (int64_t i = 0; i < 512; ++i) ASSERT_EQ(std::abs(spread.code(0, i)), i < 256 ? 0 : 127) << i;
}

TEST(quantize_i8_convrot, takes_rows_of_every_magnitude) {
    Inputs in;
    ggml_tensor * x = in.floats({1024, 12, 1, 1});
    const float factors[] = {0.0f,          FLT_TRUE_MIN, 1e-41f, FLT_MIN, 100 * FLT_MIN, 126 * FLT_MIN,
                             200 * FLT_MIN, 1e-34f,       1e20f,  1e37f,   FLT_MAX / 16,  FLT_MAX};
    for (int64_t row = 0; row < 12; ++row) {
        for (int64_t i = 0; i < 1024; ++i) at(x, i, row) *= factors[row];
        if (row == 5 || row == 11) at(x, 9, row) = factors[row];
    }
    for (const int group : {1, 4, 64, 256, 1024}) {
        check(x, group, "magnitudes");
        const Rows8 got = quantize(x, group);
        EXPECT_EQ(got.scale(0), 0.0f);
        for (int64_t row = 0; row < 12; ++row) {
            EXPECT_TRUE(std::isfinite(got.scale(row)) || row == 11) << row;
            const bool zero = !(got.scale(row) >= FLT_MIN); // the inverse may be too large, or it is NaN
            int largest = 0;
            for (int64_t i = 0; i < 1024; ++i) largest = std::max(largest, std::abs(got.code(row, i)));
            EXPECT_EQ(largest, zero ? 0 : 127) << "group " << group << ", row " << row;
        }
    }
    const Rows8 plain = quantize(x, 1);
    EXPECT_LT(plain.scale(5), FLT_MIN);
    EXPECT_GE(plain.scale(6), FLT_MIN);
    EXPECT_EQ(plain.scale(11), FLT_MAX / 127.0f) << "the largest float is not too large";
}

TEST(quantize_i8_convrot, keeps_nan_and_infinity_to_their_rows) {
    for (const int group : {1, 4, 16, 256, 1024}) {
        Inputs in;
        ggml_tensor * x = in.floats({2048, 9, 1, 1});
        const Rows8 before = quantize(x, group);
        at(x, 2047, 1) = std::numeric_limits<float>::quiet_NaN();
        at(x, 5, 3) = std::numeric_limits<float>::infinity();
        at(x, 1000, 4) = -std::numeric_limits<float>::infinity();
        at(x, 1001, 4) = std::numeric_limits<float>::infinity();
        at(x, 0, 8) = std::bit_cast<float>(0xffa00001u); // a signalling NaN
        check(x, group, "not finite, group " + std::to_string(group));
        const Rows8 got = quantize(x, group);
        for (int64_t row = 0; row < 9; ++row) {
            const bool bad = row == 1 || row == 3 || row == 4 || row == 8;
            EXPECT_EQ(std::isnan(got.scale(row)), bad) << row;
            if (!bad) {
                EXPECT_EQ(got.scale(row), before.scale(row));
            }
            for (int64_t i = 0; i < 2048; ++i) ASSERT_EQ(got.code(row, i), bad ? 0 : before.code(row, i));
        }
    }
}

TEST(quantize_i8_convrot, does_not_overflow_before_the_result_does) {
    // Sums on the way reach 3.2e38, just as the result does.
    Inputs in;
    ggml_tensor * x = in.tensor(GGML_TYPE_F32, {4096, 2, 1, 1});
    for (int64_t i = 0; i < 4096; ++i) at(x, i, 0) = 3.2e38f;
    at(x, 77, 1) = 3.2e38f;
    for (const int group : kGroups) {
        check(x, group, "near the largest float");
        const Rows8 got = quantize(x, group);
        EXPECT_EQ(got.scale(0), 3.2e38f / 127.0f) << group;
        EXPECT_EQ(got.scale(1), 3.2e38f / std::sqrt(float(group)) / 127.0f) << group;
    }
}

TEST(quantize_i8_convrot, reads_strided_rows) {
    Inputs in;
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        check(in.floats({64, 5, 3, 2}, rows), 16, "strides");
        check(in.floats({20, 3, 2, 3}, rows), 4, "strides");
    }
    ggml_tensor * x = in.floats({16, 6, 1, 1});
    ggml_context_ptr ctx(ggml_init({1u << 16, nullptr, true}));
    ggml_tensor * repeated = ggml_view_1d(ctx.get(), x, 16, x->nb[1]);
    repeated->ne[1] = 9;
    repeated->nb[1] = 0;
    const Rows8 got = quantize(repeated, 16);
    for (int64_t row = 1; row < 9; ++row) EXPECT_EQ(got.scale(row), got.scale(0)) << "one row, nine times";
}

TEST(quantize_i8_convrot, takes_more_rows_than_sixteen_bits_count) {
    Inputs in;
    ggml_tensor * x = in.floats({16, 70001, 1, 1});
    const Outcome expected = reference(quantized(x, 16), quantize_i8_convrot_reference);
    for (const std::string & name : kNames)
        expect_same_bytes(run(quantized(x, 16), {.n_threads = 2, .disabled = all_but(kNames, name)}),
                          expected, name);
}

TEST(quantize_i8_convrot, may_write_over_its_input) {
    Inputs in;
    ggml_tensor * x = in.floats({256, 33, 1, 1});
    const Outcome expected = reference(quantized(x, 64), quantize_i8_convrot_reference);
    for (const std::string & name : kNames) {
        for (const int n_threads : {1, 2, 3}) {
            for (const size_t offset : {0, 32, 1024, 6 * 1024 + 4}) {
                RunOptions options = {.n_threads = n_threads, .disabled = all_but(kNames, name)};
                options.result_in = x;
                options.result_offset = offset;
                expect_same_bytes(run(quantized(x, 64), options), expected, name);
            }
        }
    }
}

TEST(quantize_i8_convrot, computes_on_results_of_other_nodes) {
    Inputs in;
    ggml_tensor *a = in.floats({256, 40, 1, 1}), *b = in.floats({256, 1, 1, 1});
    ggml_tensor * sum = in.tensor(GGML_TYPE_F32, {256, 40, 1, 1});
    for (int64_t row = 0; row < 40; ++row)
        for (int64_t i = 0; i < 256; ++i) at(sum, i, row) = at(a, i, row) + at(b, i);
    const Build chain = [&](ggml_context * ctx) {
        return ggml_quantize_i8_convrot(ctx, ggml_add(ctx, a, b), 256);
    };
    const Outcome expected = reference(quantized(sum, 256), quantize_i8_convrot_reference);
    for (const std::string & name : kNames)
        expect_same_bytes(run(chain, {.n_threads = 2, .disabled = all_but(kNames, name)}), expected, name);
}

TEST(quantize_i8_convrot, of_no_rows_is_empty) {
    Inputs in;
    ggml_tensor * x = in.floats({16, 0, 2, 1});
    const Outcome got = run(quantized(x, 16));
    EXPECT_EQ(got.status, GGML_STATUS_SUCCESS);
    EXPECT_EQ(got.ne, (Sizes{16, 0, 1, 1}));
}

TEST(quantize_i8_convrot, is_not_computed_when_its_attributes_or_its_shape_were_changed) {
    ggml::test::LogCapture log;
    Inputs in;
    ggml_tensor * x = in.floats({64, 5, 1, 1});
    const auto changed = [&](std::function<void(QuantizeI8ConvrotAttrs &, ggml_tensor *)> change) {
        return run([=](ggml_context * ctx) {
                   ggml_tensor * q = ggml_quantize_i8_convrot(ctx, x, 16);
                   void * bytes = const_cast<void *>(ggml_ext_node_attrs(q));
                   QuantizeI8ConvrotAttrs attrs;
                   std::memcpy(&attrs, bytes, sizeof(attrs));
                   change(attrs, q);
                   std::memcpy(bytes, &attrs, sizeof(attrs));
                   return q;
               })
            .status;
    };
    EXPECT_EQ(changed([](auto &, auto *) {}), GGML_STATUS_SUCCESS);
    EXPECT_EQ(changed([](auto & a, auto *) { a.group = 64; }), GGML_STATUS_SUCCESS);
    for (const int group : {0, -16, 15, 256, 1 << 30})
        EXPECT_EQ(changed([=](auto & a, auto *) { a.group = group; }), GGML_STATUS_FAILED) << group;
    EXPECT_EQ(changed([](auto & a, auto *) { a.row_ne[0] = 6; }), GGML_STATUS_FAILED);
    EXPECT_EQ(changed([](auto &, auto * q) { q->ne[1] = 8; }), GGML_STATUS_FAILED) << "no room for scales";
}

TEST(quantize_i8_convrot, stops_when_the_caller_says_so) {
    Inputs in;
    ggml_tensor * x = in.floats({64, 64, 1, 1});
    EXPECT_EQ(run(quantized(x, 64), {.abort = [](void *) { return true; }}).status, GGML_STATUS_ABORTED);
}

TEST(quantize_i8_convrot, keeps_the_sizes_that_the_packed_shape_loses) {
    Inputs in;
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    ggml_tensor * q = ggml_quantize_i8_convrot(ctx.get(), in.floats({64, 5, 3, 2}), 16);
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q->type, GGML_TYPE_I8);
    EXPECT_EQ(q->ne[1], 32 + 2) << "30 rows, padded, and 128 bytes of scales in rows of 64";
    EXPECT_TRUE(is_packed_rows(q));
    EXPECT_FALSE(is_packed_rows(q->src[0]));
    QuantizeI8ConvrotAttrs attrs;
    std::memcpy(&attrs, ggml_ext_node_attrs(q), sizeof(attrs));
    EXPECT_EQ(attrs.group, 16);
    EXPECT_EQ(attrs.row_ne[0] * 100 + attrs.row_ne[1] * 10 + attrs.row_ne[2], 532);
}

TEST(quantize_i8_convrot, refuses_what_does_not_fit_with_the_reason) {
    ggml::test::LogCapture log;
    Inputs in;
    ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
    const auto expect_refusal = [&](ggml_tensor * x, int group, const char * words) {
        EXPECT_EQ(ggml_quantize_i8_convrot(ctx.get(), x, group), nullptr) << words;
        EXPECT_NE(std::string(ggml_ext_last_message()).find(words), std::string::npos)
            << ggml_ext_last_message();
    };
    ggml_tensor * x = in.floats({96, 4, 1, 1});
    for (const int group : {0, -4, 2, 8, 32, 128, 512, 2048, 16384, INT32_MIN, INT32_MAX})
        expect_refusal(x, group, "not a power of four from 1 to 4096");
    expect_refusal(x, 64, "f32 [96, 4, 1, 1]: its rows are no whole number of groups of 64");
    expect_refusal(in.floats({0, 4, 1, 1}), 4, "no whole number of groups");
    expect_refusal(in.tensor(GGML_TYPE_F16, {16, 4, 1, 1}), 16, "x is f16 [16, 4, 1, 1], not F32");
    expect_refusal(in.floats({16, 4, 1, 1}, Rows::sparse), 16, "8 bytes apart");
    expect_refusal(ggml_view_1d(ctx.get(), x, 16, 2), 16, "lies between floats");
    // Nothing has this many bytes; a view that repeats a row can still claim them.
    ggml_tensor * huge = ggml_view_1d(ctx.get(), x, 16, 0);
    for (int d = 1; d < GGML_MAX_DIMS; ++d) huge->ne[d] = int64_t(1) << 20, huge->nb[d] = 0;
    expect_refusal(huge, 16, "too large to be packed");
    EXPECT_EQ(ggml_quantize_i8_convrot(ctx.get(), nullptr, 4), nullptr);
    EXPECT_FALSE(log.text.empty()) << "each refusal is one error line";
}

} // namespace
} // namespace sd::test
