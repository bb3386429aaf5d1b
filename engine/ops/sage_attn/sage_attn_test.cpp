// The reference against exact attention in double.
#include "ops/common/float_rounding.h"
#include "ops/common/test_attention.h"
#include "ops/sage_attn/reference.h"
#include "sd-ggml-ops.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>

namespace sd::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Mode {
    int mode;
    const char * name;
    double max_error; // relative; F16 has 11 significant bits, E4M3 has 4, INT8 gives the rest
};
constexpr Mode kModes[] = {
    {GGML_SAGE_ATTN_AUTO, "auto", 0.015},
    {GGML_SAGE_ATTN_2, "2", 0.04},
    {GGML_SAGE_ATTN_2_PLUS_PLUS, "2++", 0.04},
};

struct Case {
    int64_t size, tokens, kv_tokens, heads, kv_heads, batch;
};
constexpr Case kCases[] = {
    {64, 1, 1, 4, 2, 2},    {128, 1, 1, 1, 1, 1},     {64, 17, 33, 4, 1, 2},   {128, 17, 33, 4, 1, 1},
    {64, 127, 65, 4, 2, 1}, {128, 129, 193, 2, 2, 1}, {64, 128, 128, 2, 1, 1}, {128, 5, 300, 2, 1, 1},
};

struct Layer {
    Inputs in;
    ggml_tensor *q, *k, *v;
    float scale;

    explicit Layer(const Case & c, ggml_type k_type = GGML_TYPE_F32, ggml_type v_type = GGML_TYPE_F16)
        : in(7), q(normal(in, {c.size, c.tokens, c.heads, c.batch})),
          k(normal(in, {c.size, c.kv_tokens, c.kv_heads, c.batch}, 1.0f, k_type)),
          v(normal(in, {c.size, c.kv_tokens, c.kv_heads, c.batch}, 1.0f, v_type)),
          scale(1.0f / std::sqrt(float(c.size))) {}

    Build build(int mode) {
        return [this, mode](ggml_context * ctx) { return ggml_sage_attn(ctx, q, k, v, scale, mode); };
    }
    std::vector<float> compute(int mode) {
        const Outcome outcome = reference(build(mode), sage_attn_reference);
        EXPECT_EQ(outcome.status, GGML_STATUS_SUCCESS);
        return outcome.floats();
    }
    std::vector<float> compute(const SageRecipe & recipe) {
        ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
        ggml_tensor * node = build(GGML_SAGE_ATTN_AUTO)(ctx.get());
        std::vector<float> y(static_cast<size_t>(ggml_nelements(node)));
        node->data = y.data();
        EXPECT_EQ(sage_attn_compute(node, recipe), GGML_STATUS_SUCCESS);
        return y;
    }
    double error(const std::vector<float> & y) const {
        return relative_error(y, exact_attention(q, k, v, scale));
    }
};

TEST(sage_attn, every_mode_is_close_to_exact_attention) {
    for (const Case & c : kCases) {
        for (const ggml_type k_type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            Layer layer(c, k_type, k_type == GGML_TYPE_F32 ? GGML_TYPE_F16 : GGML_TYPE_F32);
            for (const Mode & m : kModes) {
                EXPECT_LT(layer.error(layer.compute(m.mode)), m.max_error)
                    << m.name << ", head " << c.size << ", tokens " << c.tokens << " x " << c.kv_tokens;
            }
        }
    }
}

TEST(sage_attn, modes_round_differently) {
    Layer layer({64, 40, 100, 2, 2, 1});
    const std::vector<float> half = layer.compute(GGML_SAGE_ATTN_AUTO), two = layer.compute(GGML_SAGE_ATTN_2),
                             plus = layer.compute(GGML_SAGE_ATTN_2_PLUS_PLUS);
    EXPECT_LT(layer.error(half), 0.5 * layer.error(two)) << "values in F16 and in FP8";
    EXPECT_NE(two, plus) << "sums in F32 and in F16";
}

TEST(sage_attn, smoothing_removes_what_all_keys_have_in_common) {
    for (const Mode & m : kModes) {
        Layer layer({128, 33, 130, 2, 1, 1});
        add_offset(layer.k, 300.0f);
        SageRecipe recipe = sage_recipe(m.mode);
        ASSERT_TRUE(recipe.smooth_keys);
        EXPECT_LT(layer.error(layer.compute(recipe)), m.max_error) << m.name;
        recipe.smooth_keys = false;
        EXPECT_GT(layer.error(layer.compute(recipe)), 5.0 * m.max_error) << m.name;
    }
}

TEST(sage_attn, smoothing_queries_removes_what_a_block_of_them_has_in_common) {
    for (const Mode & m : kModes) {
        Layer layer({64, 200, 100, 2, 1, 1});
        add_offset(layer.q, 32.0f);
        for (int64_t i = 0; i < ggml_nelements(layer.k); ++i) static_cast<float *>(layer.k->data)[i] *= 0.1f;
        SageRecipe recipe = sage_recipe(m.mode);
        ASSERT_FALSE(recipe.smooth_queries);
        const double rough = layer.error(layer.compute(recipe));
        recipe.smooth_queries = true;
        const double smooth = layer.error(layer.compute(recipe));
        EXPECT_LT(smooth, m.max_error) << m.name;
        EXPECT_LT(smooth, 0.9 * rough) << m.name;
    }
}

TEST(sage_attn, finer_scales_keep_an_outlier_to_fewer_rows) {
    Layer layer({64, 32, 64, 1, 1, 1});
    for (int64_t i = 0; i < 64; ++i) at(layer.q, i, 9) *= 1000.0f;
    SageRecipe recipe = sage_recipe(GGML_SAGE_ATTN_AUTO);
    const std::vector<double> exact = exact_attention(layer.q, layer.k, layer.v, double(layer.scale));
    const auto error_of_row = [&](const std::vector<float> & y, ptrdiff_t row) {
        return relative_error({y.begin() + row * 64, y.begin() + row * 64 + 64},
                              {exact.begin() + row * 64, exact.begin() + row * 64 + 64});
    };
    const std::vector<float> coarse = layer.compute(recipe);
    recipe.scales = SageScales::per_thread;
    const std::vector<float> fine = layer.compute(recipe);
    EXPECT_LT(error_of_row(fine, 10), 0.05);
    EXPECT_GT(error_of_row(coarse, 10), 0.5) << "the scale of the warp is that of the outlier";
    EXPECT_GT(error_of_row(fine, 17), 0.5) << "the same thread";
}

TEST(sage_attn, one_key_gives_its_value) {
    Layer layer({64, 3, 1, 2, 1, 1});
    for (const Mode & m : kModes) {
        const std::vector<float> y = layer.compute(m.mode);
        for (size_t i = 0; i < y.size(); ++i) {
            const auto v = float(value_at(layer.v, int64_t(i % 64), 0, 0, 0));
            EXPECT_NEAR(y[i], v, 1e-6f * std::fabs(v)) << m.name;
        }
    }
}

TEST(sage_attn, sums_in_f16_hold_whole_blocks_of_the_largest_values) {
    Layer layer({64, 2, 256, 1, 1, 1});
    std::fill_n(static_cast<float *>(layer.k->data), ggml_nelements(layer.k), 0.5f); // equal weights
    std::fill_n(static_cast<ggml_fp16_t *>(layer.v->data), ggml_nelements(layer.v), ggml_fp32_to_fp16(-3.0f));
    for (const float y : layer.compute(GGML_SAGE_ATTN_2_PLUS_PLUS)) EXPECT_NEAR(y, -3.0f, 1e-5f);
}

TEST(sage_attn, shared_heads_are_like_repeated_ones) {
    Layer shared({64, 20, 70, 6, 2, 2});
    Layer repeated({64, 20, 70, 6, 6, 2});
    repeated.q = shared.q;
    for (int64_t batch = 0; batch < 2; ++batch) {
        for (int64_t head = 0; head < 6; ++head) {
            const size_t bytes = shared.k->nb[2];
            const size_t from = size_t(batch) * shared.k->nb[3] + size_t(head / 3) * bytes;
            std::memcpy(static_cast<char *>(repeated.k->data) + size_t(batch * 6 + head) * bytes,
                        static_cast<char *>(shared.k->data) + from, bytes);
            std::memcpy(static_cast<char *>(repeated.v->data) + size_t(batch * 6 + head) * bytes / 2,
                        static_cast<char *>(shared.v->data) + from / 2, bytes / 2);
        }
    }
    for (const Mode & m : kModes) EXPECT_EQ(shared.compute(m.mode), repeated.compute(m.mode)) << m.name;
}

TEST(sage_attn, gaps_between_rows_change_nothing) {
    Layer layer({64, 20, 70, 4, 2, 2}, GGML_TYPE_F32, GGML_TYPE_F32);
    const auto moved = [&](const ggml_tensor * t, Rows rows) {
        ggml_tensor * copy = layer.in.tensor(GGML_TYPE_F32, {t->ne[0], t->ne[1], t->ne[2], t->ne[3]}, rows);
        for (int64_t row = 0; row < ggml_nrows(t); ++row) {
            const int64_t i1 = row % t->ne[1], i2 = row / t->ne[1] % t->ne[2], i3 = row / t->ne[1] / t->ne[2];
            for (int64_t i = 0; i < t->ne[0]; ++i)
                at(copy, i, i1, i2, i3) = float(value_at(t, i, i1, i2, i3));
        }
        return copy;
    };
    for (const Mode & m : kModes) {
        const std::vector<float> plain = layer.compute(m.mode);
        Layer other({64, 1, 1, 1, 1, 1});
        other.scale = layer.scale;
        other.q = moved(layer.q, Rows::permuted);
        other.k = moved(layer.k, Rows::padded);
        other.v = moved(layer.v, Rows::permuted);
        EXPECT_EQ(other.compute(m.mode), plain) << m.name;
    }
}

// Which elements of [64, 2 heads, tokens] are NaN, by (element, head, token).
using IsNan = std::function<bool(int64_t i, int64_t head, int64_t token)>;
void expect_nan(const std::vector<float> & y, const std::vector<float> & clean, const IsNan & is_nan) {
    for (size_t i = 0; i < y.size(); ++i) {
        const bool expected = is_nan(int64_t(i % 64), int64_t(i / 64 % 2), int64_t(i / 128));
        ASSERT_EQ(std::isnan(y[i]), expected) << i;
        if (!expected) {
            ASSERT_EQ(y[i], clean[i]) << i;
        }
    }
}

TEST(sage_attn, what_is_not_finite_stays_where_exact_attention_has_it) {
    for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
        for (const Mode & m : kModes) {
            Layer layer({64, 40, 70, 2, 2, 1}, GGML_TYPE_F32, GGML_TYPE_F32);
            const std::vector<float> clean = layer.compute(m.mode);
            const float q = std::exchange(at(layer.q, 3, 7, 1), bad);
            expect_nan(layer.compute(m.mode), clean,
                       [](int64_t, int64_t head, int64_t token) { return head == 1 && token == 7; });
            at(layer.q, 3, 7, 1) = q;
            const float k = std::exchange(at(layer.k, 3, 69, 0), bad);
            expect_nan(layer.compute(m.mode), clean,
                       [](int64_t, int64_t head, int64_t) { return head == 0; });
            at(layer.k, 3, 69, 0) = k;
            at(layer.v, 5, 2, 1) = bad;
            expect_nan(layer.compute(m.mode), clean,
                       [](int64_t i, int64_t head, int64_t) { return head == 1 && i == 5; });
        }
    }
}

TEST(sage_attn, huge_and_tiny_inputs_stay_finite) {
    for (const Mode & m : kModes) {
        Layer layer({64, 20, 70, 2, 1, 1}, GGML_TYPE_F32, GGML_TYPE_F32);
        for (ggml_tensor * t : {layer.q, layer.k}) {
            for (int64_t i = 0; i < ggml_nelements(t); ++i) static_cast<float *>(t->data)[i] *= 1e12f;
        }
        for (const float y : layer.compute(m.mode)) ASSERT_TRUE(std::isfinite(y)) << m.name;
        for (ggml_tensor * t : {layer.q, layer.k, layer.v})
            std::fill_n(static_cast<float *>(t->data), ggml_nelements(t), 1e-40f);
        for (const float y : layer.compute(m.mode)) ASSERT_NEAR(y, 0.0f, 1e-30f) << m.name;
    }
}

} // namespace
} // namespace sd::test
