// Kernels on rows of floats, compiled for NEON: sums, scalings, softmax passes, rotations and transpositions,
// for lengths around whole vectors.
#include "backends/cpu/kernels/conv/layout.h"
#include "backends/cpu/kernels/norm/norm_rows.h"
#include "backends/cpu/kernels/reduce/sum_row.h"
#include "backends/cpu/kernels/rope/rotate.h"
#include "backends/cpu/kernels/softmax/softmax_rows.h"
#include "tests/cross/aarch64/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace ggml::cross {
namespace {

constexpr int64_t kLengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 1025};

void for_lengths(const char * name, const std::function<void(int64_t, Random &)> & check) {
    Random random(99);
    for (int64_t n : kLengths) check(n, random);
    passed("%s: %zu lengths", name, std::size(kLengths));
}

void require_row(const char * name, const std::vector<float> & got, const std::vector<double> & want,
                 double bound) {
    for (size_t i = 0; i < want.size(); ++i) {
        require(agrees(got[i], want[i], bound), "%s of %zu: element %zu is %a, expected %a within %g ulp",
                name, want.size(), i, got[i], want[i], bound);
    }
}

// Additions in double: the order of the lanes moves the result by a few 2^-53 of the sum of magnitudes.
void require_sum(const char * name, int64_t n, double got, double want, double magnitudes) {
    require(is_close(got, want, 1e-14 * magnitudes), "%s of %d: %.17g, expected %.17g", name, int(n), got,
            want);
}

void check_sums(int64_t n, Random & random) {
    const std::vector<float> x = random.floats(n, -2, 3);
    const float mean = 0.5f;
    double sum = 0, magnitudes = 0, squares = 0, centered = 0;
    for (float v : x) {
        sum += v, magnitudes += std::fabs(v), squares += double(v) * v;
        centered += double(v - mean) * double(v - mean);
    }
    require_sum("sum", n, cpu::sum_row(x.data(), n), sum, magnitudes);
    require_sum("sum of squares", n, cpu::sum_squares_row(x.data(), n), squares, squares);
    require_sum("sum of centered squares", n, cpu::sum_centered_squares_row(x.data(), mean, n), centered,
                centered);
}

// Sixteen partial sums added as a tree, the same on every instruction set.
void check_fixed_sum(int64_t n, Random & random) {
    const std::vector<float> x = random.floats(n);
    double partial[16] = {};
    for (int64_t i = 0; i < n; ++i) partial[i % 16] += double(x[size_t(i)]);
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) partial[i] += partial[i + half];
    }
    const double got = cpu::sum_floats(x.data(), n);
    require(got == partial[0], "sum in fixed order of %d: %a, expected %a", int(n), got, partial[0]);
}

void check_scalings(int64_t n, Random & random) {
    const std::vector<float> x = random.floats(n);
    std::vector<float> y(x.size());
    std::vector<double> scaled, centered;
    for (float v : x) {
        const float difference = v - 0.25f;
        scaled.push_back(v * 1.7f);
        centered.push_back(difference * 1.7f);
    }
    cpu::scale_row(x.data(), 1.7f, y.data(), n);
    require_row("scale", y, scaled, 0);
    cpu::center_scale_row(x.data(), 0.25f, 1.7f, y.data(), n);
    require_row("center and scale", y, centered, 0);
}

void check_softmax(int64_t n, Random & random) {
    const std::vector<float> x = random.floats(n, -50, 50), mask = random.floats(n, -30, 0);
    for (const float * m : {static_cast<const float *>(nullptr), mask.data()}) {
        std::vector<float> y(x.size());
        std::vector<double> scaled;
        for (size_t i = 0; i < x.size(); ++i) {
            const float product = x[i] * 1.3f, bias = m != nullptr ? 0.7f * m[i] : 0.0f;
            scaled.push_back(product + bias);
        }
        const float max = cpu::scale_mask_row(x.data(), 1.3f, m, 0.7f, y.data(), n);
        require_row("scale and mask", y, scaled, 0);
        require(max == *std::max_element(y.begin(), y.end()), "maximum of %d: %a", int(n), max);
        std::vector<double> exact;
        double sum = 0;
        for (float v : y) {
            const float difference = v - max;
            exact.push_back(difference < -87.336f ? 0.0 : std::exp(double(difference)));
        }
        const double got = cpu::exp_sum_row(y.data(), max, n);
        require_row("exp", y, exact, 1.1);
        for (float v : y) sum += v;
        require_sum("sum of exp", n, got, sum, sum);
    }
}

void check_sin_cos(int64_t n, Random & random) {
    // Beyond 1e6 another path takes over; one large angle switches the whole row.
    for (double largest : {100.0, 1e6, 1e9}) {
        std::vector<double> theta, cosine, sine;
        for (int64_t i = 0; i < n; ++i) theta.push_back(random.uniform(-1, 1) * largest);
        for (double t : theta) cosine.push_back(std::cos(t)), sine.push_back(std::sin(t));
        std::vector<float> c(theta.size()), s(theta.size());
        cpu::sin_cos_row(theta.data(), 1.0f, c.data(), s.data(), n);
        require_row("cos of doubles", c, cosine, 1.6);
        require_row("sin of doubles", s, sine, 1.6);
    }
}

void check_rotations(int64_t n, Random & random) {
    const int64_t gap = n + 3;
    const std::vector<float> x = random.floats(gap + n), c = random.floats(n), s = random.floats(n);
    for (bool halves : {true, false}) {
        std::vector<float> y = x;
        std::vector<double> want(x.begin(), x.end());
        for (int64_t i = 0; i < n; ++i) {
            const auto first = size_t(halves ? i : 2 * i), second = size_t(halves ? i + gap : 2 * i + 1);
            const float a = x[first], b = x[second], ci = c[size_t(i)], si = s[size_t(i)];
            want[first] = a * ci - b * si;
            want[second] = a * si + b * ci;
        }
        if (halves)
            cpu::rotate_halves(x.data(), gap, c.data(), s.data(), y.data(), n);
        else
            cpu::rotate_neighbours(x.data(), c.data(), s.data(), y.data(), n);
        require_row(halves ? "rotated halves" : "rotated neighbours", y, want, 0);
    }
}

void check_transposition(int64_t width, Random & random) {
    for (int64_t channels : {1, 4, 5, 18}) {
        const int64_t pitch = width + 2;
        const std::vector<float> image = random.floats(pitch * channels);
        std::vector<float> last(size_t(width * channels)), back = image;
        cpu::conv::row_to_channels_last(reinterpret_cast<const char *>(image.data()), sizeof(float),
                                        size_t(pitch) * sizeof(float), width, channels, last.data());
        for (int64_t i = 0; i < width * channels; ++i) {
            require(last[size_t(i)] == image[size_t(i % channels * pitch + i / channels)],
                    "channels last, width %d, channels %d: element %d", int(width), int(channels), int(i));
        }
        for (int64_t i = 0; i < width * channels; ++i) back[size_t(i / width * pitch + i % width)] = 0;
        cpu::conv::row_from_channels_last(last.data(), width, channels, reinterpret_cast<char *>(back.data()),
                                          sizeof(float), size_t(pitch) * sizeof(float));
        require(std::memcmp(back.data(), image.data(), image.size() * sizeof(float)) == 0,
                "from channels last, width %d, channels %d", int(width), int(channels));
    }
}

} // namespace

void check_row_kernels() {
    for_lengths("sums in double lanes", check_sums);
    for_lengths("sums in fixed order", check_fixed_sum);
    for_lengths("scalings", check_scalings);
    for_lengths("softmax passes", check_softmax);
    for_lengths("sine and cosine of angles", check_sin_cos);
    for_lengths("rotations", check_rotations);
    for_lengths("transpositions", check_transposition);
}

} // namespace ggml::cross
