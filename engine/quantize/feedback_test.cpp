// Error feedback against the formulas it stands for, written down again and in double.
#include "quantize/feedback.h"

#include "base/error.h"
#include "quantize/test_reference.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

using test::Numbers;
using Square = std::vector<std::vector<double>>;

// Activations that go together: neighbours share most of what they are.
std::vector<float> activations(int64_t rows, int64_t k, uint64_t seed) {
    Numbers numbers(seed);
    std::vector<float> x;
    for (int64_t row = 0; row < rows; ++row) {
        float common = numbers.next();
        for (int64_t i = 0; i < k; ++i) {
            if (i % 24 == 0) common = numbers.next();
            x.push_back(common + 0.3f * numbers.next());
        }
    }
    return x;
}

SecondMoments moments_of(const std::vector<float> & x, int64_t k, int threads = 2) {
    SecondMoments m = {k, 0, std::vector<float>(size_t(k * k))};
    // In two parts, as they come.
    const int64_t rows = int64_t(x.size()) / k, first = rows / 3;
    add_moments(x.data(), first, threads, m);
    add_moments(x.data() + first * k, rows - first, threads, m);
    return m;
}

Square exact_moments(const std::vector<float> & x, size_t k) {
    Square h(k, std::vector<double>(k));
    for (size_t row = 0; row < x.size() / k; ++row) {
        for (size_t i = 0; i < k; ++i) {
            for (size_t j = 0; j < k; ++j) h[i][j] += double(x[row * k + i]) * double(x[row * k + j]);
        }
    }
    return h;
}

double output_square(const Square & h, const std::vector<double> & e) {
    double sum = 0;
    for (size_t i = 0; i < e.size(); ++i) {
        for (size_t j = 0; j < e.size(); ++j) sum += e[i] * h[i][j] * e[j];
    }
    return sum;
}

TEST(feedback, the_factor_gives_the_damped_moments_back) {
    for (const int64_t k : {4, 64, 148}) {
        const std::vector<float> x = activations(90, k, 3);
        const Square h = exact_moments(x, size_t(k));
        const FeedbackFactor f = factor_of(moments_of(x, k), 2);
        double mean = 0;
        for (size_t i = 0; i < size_t(k); ++i) mean += h[i][i] / double(k);
        EXPECT_NEAR(f.damping / (0.01 * mean), 1, 1e-5);
        const auto unit = [&](int64_t i, int64_t j) {
            return i == j ? 1.0 : i < j ? double(f.u[size_t(i * k + j)]) : 0.0;
        };
        for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = i; j < k; ++j) {
                double sum = 0;
                for (int64_t l = j; l < k; ++l) sum += unit(i, l) * f.d[size_t(l)] * unit(j, l);
                const double expected = h[size_t(i)][size_t(j)] + (i == j ? f.damping : 0);
                ASSERT_NEAR(sum, expected, 1e-5 * mean) << k << " " << i << " " << j;
            }
        }
    }
}

TEST(feedback, any_number_of_threads_gives_the_same_factor) {
    const std::vector<float> x = activations(70, 200, 5);
    const FeedbackFactor one = factor_of(moments_of(x, 200, 1), 1);
    for (const int threads : {2, 5}) {
        const FeedbackFactor more = factor_of(moments_of(x, 200, threads), threads);
        EXPECT_EQ(more.d, one.d);
        for (size_t i = 0; i < 200; ++i) {
            for (size_t j = i + 1; j < 200; ++j) ASSERT_EQ(more.u[i * 200 + j], one.u[i * 200 + j]);
        }
    }
}

TEST(feedback, activations_that_tell_nothing_are_refused) {
    SecondMoments zero = {16, 0, std::vector<float>(256)};
    EXPECT_THROW(factor_of(std::move(zero), 1), Error);
    SecondMoments infinite = {16, 0, std::vector<float>(256, INFINITY)};
    EXPECT_THROW(factor_of(std::move(infinite), 1), Error);
}

TEST(feedback, inputs_that_are_always_zero_do_no_harm) {
    std::vector<float> x = activations(50, 64, 2);
    for (size_t i = 0; i < x.size(); i += 64) std::fill_n(x.begin() + int64_t(i) + 8, 5, 0.0f);
    const FeedbackFactor f = factor_of(moments_of(x, 64), 1);
    for (const double d : f.d) EXPECT_GT(d, 0);
}

// GPTQ as it is published: a row is rounded from the first input to the last, and the inverse of what is left
// of the moments tells how the rest makes up for it.
std::vector<int> published(std::vector<double> w, Square h, double damping, double scale, double most) {
    const size_t k = w.size();
    for (size_t i = 0; i < k; ++i) h[i][i] += damping;
    // The inverse by Gauss and Jordan.
    Square inverse(k, std::vector<double>(k));
    for (size_t i = 0; i < k; ++i) inverse[i][i] = 1;
    for (size_t c = 0; c < k; ++c) {
        const double pivot = h[c][c];
        for (size_t j = 0; j < k; ++j) h[c][j] /= pivot, inverse[c][j] /= pivot;
        for (size_t i = 0; i < k; ++i) {
            const double by = h[i][c];
            if (i == c) continue;
            for (size_t j = 0; j < k; ++j) h[i][j] -= by * h[c][j], inverse[i][j] -= by * inverse[c][j];
        }
    }
    std::vector<int> codes;
    for (size_t q = 0; q < k; ++q) {
        const double code = std::clamp(std::nearbyint(w[q] / scale), -most, most);
        codes.push_back(int(code));
        const double error = (w[q] - code * scale) / inverse[q][q];
        for (size_t j = q + 1; j < k; ++j) w[j] -= error * inverse[q][j];
        // One input less.
        for (size_t i = q + 1; i < k; ++i) {
            const double by = inverse[i][q] / inverse[q][q];
            for (size_t j = q + 1; j < k; ++j) inverse[i][j] -= by * inverse[q][j];
        }
    }
    return codes;
}

TEST(feedback, codes_are_those_of_the_published_method) {
    constexpr int64_t k = 256;
    const std::vector<float> x = activations(400, k, 8);
    const FeedbackFactor f = factor_of(moments_of(x, k), 2);
    Numbers numbers(4);
    std::vector<float> rows = numbers.row(3 * k, 0.02f), rotated(static_cast<size_t>(k));
    EncodedRows out;
    FeedbackEncoder encoder;
    encoder.encode({LayerFormat::w4a4, 64, k, kGaussianLevels}, f, rows.data(), 3, out);
    for (int64_t row = 0; row < 3; ++row) {
        rotate_row(rows.data() + row * k, k, 64, rotated.data());
        std::vector<int8_t> codes(static_cast<size_t>(k));
        unpack_nibbles(out.weight.data() + row * k / 2, k, codes.data());
        const std::vector<int> expected = published({rotated.begin(), rotated.end()}, exact_moments(x, k),
                                                    f.damping, double(out.scale[size_t(row)]), 7);
        // Once a value near a tie is rounded otherwise, those that follow make up for another error.
        EXPECT_TRUE(std::equal(codes.begin(), codes.end(), expected.begin())) << row;
    }
}

TEST(feedback, outputs_are_nearer_and_their_errors_are_what_it_says) {
    constexpr int64_t k = 256, n = 9;
    const std::vector<float> x = activations(300, k, 6);
    const Square h = exact_moments(x, k);
    const FeedbackFactor f = factor_of(moments_of(x, k), 2);
    for (const LayerFormat format :
         {LayerFormat::int8, LayerFormat::int8_convrot, LayerFormat::w4a4, LayerFormat::w4a8}) {
        const EncodeOptions o = {format, format == LayerFormat::int8 ? 1 : 64, k, kGaussianLevels};
        Numbers numbers(9);
        std::vector<float> rows = numbers.row(n * k, 0.02f), r(static_cast<size_t>(k));
        EncodedRows plain, fed;
        RowEncoder().encode(o, rows.data(), n, plain);
        const OutputSums sums = FeedbackEncoder().encode(o, f, rows.data(), n, fed);
        EXPECT_EQ(fed.scale, plain.scale);
        EXPECT_EQ(fed.relative, plain.relative);
        double size = 0;
        for (int64_t row = 0; row < n; ++row) {
            rotate_row(rows.data() + row * k, k, o.group, r.data());
            size += output_square(h, {r.begin(), r.end()});
        }
        EXPECT_NEAR(sums.size / size, 1, 1e-3);
        EXPECT_LT(sums.error, 0.6 * sums.plain) << layer_format_name(format);
        EXPECT_GT(fed.sums.error, plain.sums.error) << "weights are further away, outputs nearer";
        if (format == LayerFormat::w4a8 || format == LayerFormat::w4a4) continue;
        double error = 0;
        for (int64_t row = 0; row < n; ++row) {
            rotate_row(rows.data() + row * k, k, o.group, r.data());
            std::vector<double> e;
            for (int64_t i = 0; i < k; ++i)
                e.push_back(double(r[size_t(i)]) -
                            double(int8_t(fed.weight[size_t(row * k + i)])) * double(fed.scale[size_t(row)]));
            error += output_square(h, e);
        }
        EXPECT_NEAR(sums.error / error, 1, 0.02);
    }
}

TEST(feedback, activations_that_do_not_go_together_leave_codes_as_they_are) {
    constexpr int64_t k = 96;
    std::vector<float> x(size_t(k * k));
    for (size_t i = 0; i < size_t(k); ++i) x[i * k + i] = 2;
    const FeedbackFactor f = factor_of(moments_of(x, k), 1);
    Numbers numbers(1);
    std::vector<float> rows = numbers.row(4 * k, 0.1f);
    for (const LayerFormat format : {LayerFormat::int8_convrot, LayerFormat::w4a4, LayerFormat::w4a8}) {
        const EncodeOptions o = {format, 16, k, kGaussianLevels};
        EncodedRows plain, fed;
        RowEncoder().encode(o, rows.data(), 4, plain);
        FeedbackEncoder().encode(o, f, rows.data(), 4, fed);
        EXPECT_TRUE(fed.weight == plain.weight);
        EXPECT_TRUE(fed.sums.error == plain.sums.error && fed.sums.size == plain.sums.size);
    }
}

} // namespace
} // namespace sd
