// The reference against exact attention in double, and against its own rules written out plainly.
#include "ops/common/float_rounding.h"
#include "ops/common/test_attention.h"
#include "ops/sol_attn/reference.h"
#include "sd-ggml-ops.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <tuple>
#include <utility>

namespace sd::test {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Layer {
    Inputs in;
    ggml_tensor *q, *k, *v;
    float scale = 1.0f / std::sqrt(128.0f);
    SolRouting routing;

    explicit Layer(int64_t tokens, int64_t heads = 1, int64_t batch = 1, uint32_t seed = 3)
        : in(seed), q(normal(in, {128, tokens, heads, batch})), k(normal(in, {128, tokens, heads, batch})),
          v(normal(in, {128, tokens, heads, batch})) {}

    std::vector<float> compute(float tau, SolPrecision precision = SolPrecision::f32) {
        ggml_context_ptr ctx(ggml_init({1u << 20, nullptr, true}));
        ggml_tensor * node = ggml_sol_attn(ctx.get(), q, k, v, scale, tau);
        std::vector<float> y(static_cast<size_t>(ggml_nelements(node)));
        node->data = y.data();
        EXPECT_EQ(sol_attn_compute(node, precision, &routing), GGML_STATUS_SUCCESS);
        return y;
    }
    std::vector<double> exact() const { return exact_attention(q, k, v, double(scale)); }
    int64_t n_blocks() const { return (q->ne[1] + kSolBlock - 1) / kSolBlock; }
    int64_t last(int64_t block) const { return std::min((block + 1) * kSolBlock, q->ne[1]); }
};

struct Place {
    int64_t head, batch;
};

// Mean or sum of the rows of a block.
std::vector<double> pooled(const Layer & layer, const ggml_tensor * t, int64_t block, Place at, bool mean) {
    std::vector<double> sum(128);
    for (int64_t token = block * kSolBlock; token < layer.last(block); ++token) {
        const std::vector<double> row = row_of(t, token, at.head, at.batch);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
    }
    for (double & s : sum) s /= mean ? double(layer.last(block) - block * kSolBlock) : 1.0;
    return sum;
}

enum class Rest { pooled, dropped };

// What the routing of the layer's last run gives: exact blocks key by key; of the others, all keys at their
// mean and all values at once, or nothing.
std::vector<double> by_routing(const Layer & layer, Rest rest) {
    std::vector<double> all;
    const int64_t heads = layer.q->ne[2];
    for (int64_t batch = 0; batch < layer.q->ne[3]; ++batch) {
        for (int64_t token = 0; token < layer.q->ne[1]; ++token) {
            for (int64_t head = 0; head < heads; ++head) {
                const std::vector<double> query = row_of(layer.q, token, head, batch);
                Softmax softmax{double(layer.scale), {}, {}, {}};
                for (int64_t b = 0; b < layer.n_blocks(); ++b) {
                    if (!layer.routing.is_exact(batch * heads + head, token / kSolBlock, b)) {
                        if (rest == Rest::dropped) continue;
                        softmax.add(dot_of(query, pooled(layer, layer.k, b, {head, batch}, true)),
                                    double(layer.last(b) - b * kSolBlock),
                                    pooled(layer, layer.v, b, {head, batch}, false));
                        continue;
                    }
                    for (int64_t key = b * kSolBlock; key < layer.last(b); ++key)
                        softmax.add(dot_of(query, row_of(layer.k, key, head, batch)), 1.0,
                                    row_of(layer.v, key, head, batch));
                }
                for (const double x : softmax.result()) all.push_back(x);
            }
        }
    }
    return all;
}

void expect_close(const std::vector<float> & y, const std::vector<double> & expected,
                  const std::string & what) {
    ASSERT_EQ(y.size(), expected.size()) << what;
    for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(double(y[i]), expected[i], 1e-6 + 1e-6 * std::fabs(expected[i])) << what << ", " << i;
}

void expect_close_where_finite(const std::vector<float> & y, const std::vector<double> & expected) {
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) {
        if (!std::isnan(y[i])) {
            ASSERT_NEAR(double(y[i]), expected[i], 1e-6 + 1e-6 * std::fabs(expected[i])) << i;
        }
    }
}

constexpr int64_t kTokenCounts[] = {1, 63, 64, 65, 130, 330};

TEST(sol_attn, a_very_low_tau_is_exact_attention) {
    for (const int64_t tokens : kTokenCounts) {
        Layer layer(tokens);
        const std::vector<double> exact = layer.exact();
        for (const float tau : {-1e6f, -kMax}) {
            expect_close(layer.compute(tau), exact, std::to_string(tokens) + " tokens");
            EXPECT_EQ(layer.routing.blocks, layer.n_blocks());
            EXPECT_EQ(layer.routing.count(), layer.n_blocks() * layer.n_blocks());
        }
    }
}

TEST(sol_attn, results_follow_from_the_routing) {
    for (const int64_t tokens : kTokenCounts) {
        Layer layer(tokens);
        for (const float tau : {-0.5f, 0.5f, kMax}) {
            const std::vector<float> y = layer.compute(tau);
            expect_close(y, by_routing(layer, Rest::pooled), std::to_string(tokens) + " tokens");
        }
    }
}

TEST(sol_attn, a_rising_tau_makes_fewer_blocks_exact_down_to_the_neighbours) {
    Layer layer(10 * kSolBlock - 7, 2);
    int64_t before = 2 * 100 + 1;
    std::vector<int64_t> counts;
    for (const float tau : {-100.0f, -1.0f, -0.25f, 0.25f, 1.0f, 100.0f}) {
        layer.compute(tau);
        EXPECT_LE(layer.routing.count(), before) << tau;
        before = layer.routing.count();
        counts.push_back(before);
    }
    EXPECT_EQ(counts.front(), 2 * 100);
    EXPECT_EQ(counts.back(), 2 * (10 + 2 * 9)) << "each block and the ones beside it";
    EXPECT_LT(counts[3], counts[2]);
    for (int64_t head = 0; head < 2; ++head) {
        for (int64_t i = 0; i < 10; ++i) {
            for (int64_t j = 0; j < 10; ++j)
                EXPECT_EQ(layer.routing.is_exact(head, i, j), std::abs(i - j) <= 1) << i << ", " << j;
        }
    }
}

TEST(sol_attn, blocks_are_exact_when_their_proxy_score_is_above_mean_plus_tau_deviations) {
    Layer layer(8 * kSolBlock - 20);
    const int64_t n = layer.n_blocks();
    for (const float tau : {-1.0f, 0.0f, 0.7f}) {
        layer.compute(tau);
        for (int64_t i = 0; i < n; ++i) {
            const std::vector<double> query = pooled(layer, layer.q, i, {0, 0}, true);
            std::vector<double> mean(128), square(128);
            for (int64_t j = 0; j < n; ++j) {
                const std::vector<double> key = pooled(layer, layer.k, j, {0, 0}, true);
                for (size_t c = 0; c < 128; ++c) {
                    mean[c] += key[c] / double(n);
                    square[c] += key[c] * key[c] / double(n);
                }
            }
            double variance = 0.0;
            for (size_t c = 0; c < 128; ++c)
                variance += query[c] * query[c] * (square[c] - mean[c] * mean[c]);
            // The small constant is added to the variance of base 2 exponents.
            const double unit = double(layer.scale) / std::log(2.0);
            const double limit =
                dot_of(query, mean) * unit + double(tau) * std::sqrt(variance * unit * unit + 1e-6);
            for (int64_t j = 0; j < n; ++j) {
                const double score = dot_of(query, pooled(layer, layer.k, j, {0, 0}, true)) * unit;
                ASSERT_GT(std::fabs(score - limit), 1e-6) << "too close to tell";
                EXPECT_EQ(layer.routing.is_exact(0, i, j), score > limit || std::abs(i - j) <= 1);
            }
        }
    }
}

TEST(sol_attn, the_share_of_exact_blocks_falls_as_of_a_normal_distribution) {
    Layer layer(16 * kSolBlock);
    for (const auto & [tau, low, high] : {std::tuple{0.0f, 0.4, 0.6}, std::tuple{1.0f, 0.06, 0.28}}) {
        layer.compute(tau);
        const double far = 16.0 * 16.0 - 46.0;
        const double share = double(layer.routing.count() - 46) / far; // 46 are neighbours
        EXPECT_GT(share, low) << tau;
        EXPECT_LT(share, high) << tau;
    }
}

TEST(sol_attn, blocks_of_equal_keys_lose_nothing) {
    Layer layer(300, 2);
    for (int64_t row = 0; row < 600; ++row) {
        const int64_t token = row % 300, first = token / kSolBlock * kSolBlock;
        for (int64_t i = 0; i < 128; ++i) at(layer.k, i, token, row / 300) = at(layer.k, i, first, row / 300);
    }
    expect_close(layer.compute(kMax), layer.exact(), "keys are their mean");
    EXPECT_LT(layer.routing.count(), 2 * 25);
}

TEST(sol_attn, summaries_are_nearer_to_exact_attention_than_nothing) {
    Layer layer(8 * kSolBlock - 30);
    const std::vector<float> y = layer.compute(0.5f);
    ASSERT_LT(layer.routing.count(), 8 * 8);
    const std::vector<double> dropped = by_routing(layer, Rest::dropped);
    const std::vector<float> without(dropped.begin(), dropped.end());
    EXPECT_LT(relative_error(y, layer.exact()), 0.8 * relative_error(without, layer.exact()));
}

TEST(sol_attn, heads_and_batches_do_not_meet) {
    Layer layer(150, 3, 2);
    const std::vector<float> all = layer.compute(0.3f);
    const SolRouting routing = layer.routing;
    for (int64_t number = 0; number < 6; ++number) {
        Layer one(150);
        const size_t bytes = ggml_nbytes(one.q);
        for (const auto & [to, from] : {std::pair{one.q, layer.q}, {one.k, layer.k}, {one.v, layer.v}})
            std::memcpy(to->data, static_cast<char *>(from->data) + size_t(number) * bytes, bytes);
        const std::vector<float> y = one.compute(0.3f);
        for (int64_t token = 0; token < 150; ++token) {
            const int64_t row = (number / 3 * 150 + token) * 3 + number % 3;
            EXPECT_TRUE(
                std::equal(y.begin() + token * 128, y.begin() + token * 128 + 128, all.begin() + row * 128))
                << number << ", " << token;
        }
        EXPECT_TRUE(std::equal(one.routing.exact.begin(), one.routing.exact.end(),
                               routing.exact.begin() + number * 9));
    }
}

TEST(sol_attn, what_is_not_finite_stays_where_exact_attention_has_it) {
    using IsNan = std::function<bool(int64_t i, int64_t head, int64_t token)>;
    for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
        Layer layer(200, 2);
        const std::vector<float> clean = layer.compute(0.3f);
        const auto expect_nan = [&](const char * what, const IsNan & is_nan) {
            const std::vector<float> y = layer.compute(0.3f);
            for (size_t i = 0; i < y.size(); ++i) {
                const bool expected = is_nan(int64_t(i % 128), int64_t(i / 128 % 2), int64_t(i / 256));
                ASSERT_EQ(std::isnan(y[i]), expected) << what << ", " << i;
            }
        };
        // A block of one query: the others keep their routing, and so their bits.
        const float q = std::exchange(at(layer.q, 3, 70, 1), bad);
        expect_nan("query", [](int64_t, int64_t head, int64_t token) { return head == 1 && token == 70; });
        const std::vector<float> y = layer.compute(0.3f);
        for (size_t i = 0; i < y.size(); ++i) {
            if (i / 256 / kSolBlock != 1) {
                ASSERT_EQ(y[i], clean[i]) << "another block of queries, " << i;
            }
        }
        expect_close_where_finite(y, by_routing(layer, Rest::pooled));
        at(layer.q, 3, 70, 1) = q;
        const float k = std::exchange(at(layer.k, 3, 199, 0), bad);
        expect_nan("key", [](int64_t, int64_t head, int64_t) { return head == 0; });
        at(layer.k, 3, 199, 0) = k;
        at(layer.v, 5, 2, 1) = bad;
        expect_nan("value", [](int64_t i, int64_t head, int64_t) { return head == 1 && i == 5; });
    }
}

TEST(sol_attn, bf16_rounds_the_result_and_stays_close) {
    Layer layer(330, 2);
    for (const float tau : {-kMax, kMax}) { // the same routing in both
        const std::vector<float> fine = layer.compute(tau), coarse = layer.compute(tau, SolPrecision::bf16);
        for (const float y : coarse) ASSERT_EQ(y, as_bf16(y));
        EXPECT_NE(fine, coarse);
        EXPECT_LT(relative_error(coarse, {fine.begin(), fine.end()}), 0.01);
    }
}

TEST(sol_attn, the_reference_of_the_operator_is_f32) {
    Layer layer(130);
    const Build build = [&](ggml_context * ctx) {
        return ggml_sol_attn(ctx, layer.q, layer.k, layer.v, layer.scale, 0.2f);
    };
    const Outcome outcome = reference(build, sol_attn_reference);
    ASSERT_EQ(outcome.status, GGML_STATUS_SUCCESS);
    EXPECT_EQ(outcome.floats(), layer.compute(0.2f));
}

TEST(sol_attn, huge_and_equal_inputs_stay_finite) {
    Layer layer(200);
    for (ggml_tensor * t : {layer.q, layer.k}) {
        for (int64_t i = 0; i < ggml_nelements(t); ++i) static_cast<float *>(t->data)[i] *= 1e30f;
    }
    for (const float y : layer.compute(0.0f)) ASSERT_TRUE(std::isfinite(y));
    for (ggml_tensor * t : {layer.q, layer.k, layer.v})
        std::fill_n(static_cast<float *>(t->data), ggml_nelements(t), 1.0f);
    for (const float y : layer.compute(1.0f)) ASSERT_NEAR(y, 1.0f, 1e-6f);
    EXPECT_EQ(layer.routing.count(), 4 + 6) << "no score is above the mean of equal ones";
}

} // namespace
} // namespace sd::test
