// The vector functions against the C library in double, over a coarse sample of all floats: every exponent,
// both signs, subnormals, infinities and NaN included. The documented bounds come from a sample a thousand
// times denser.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backends/cpu/kernels/unary/vector_math_test.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/vector_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

#define GGML_TEST_FUNCTOR(name, function)                                                                    \
    struct name {                                                                                            \
        template <class D, class V>                                                                          \
        HWY_INLINE V operator()(D d, V x) const {                                                            \
            return function(d, x);                                                                           \
        }                                                                                                    \
    };
GGML_TEST_FUNCTOR(Exp, vexp)
GGML_TEST_FUNCTOR(ExpNonpositive, vexp_nonpositive)
GGML_TEST_FUNCTOR(Expm1, vexpm1)
GGML_TEST_FUNCTOR(Log, vlog)
GGML_TEST_FUNCTOR(Log1p, vlog1p_unit)
GGML_TEST_FUNCTOR(Tanh, vtanh)
GGML_TEST_FUNCTOR(Sigmoid, vsigmoid)
GGML_TEST_FUNCTOR(Erf, verf)
#undef GGML_TEST_FUNCTOR

struct SinOrCos {
    bool cosine;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        V s, c;
        vsin_cos(d, x, s, c);
        return cosine ? c : s;
    }
};

void evaluate(int function, const float * x, float * y, int64_t n) {
    switch (function) {
    case 0: return map_row(x, y, n, Exp());
    case 1: return map_row(x, y, n, ExpNonpositive());
    case 2: return map_row(x, y, n, Expm1());
    case 3: return map_row(x, y, n, Log());
    case 4: return map_row(x, y, n, Log1p());
    case 5: return map_row(x, y, n, Tanh());
    case 6: return map_row(x, y, n, Sigmoid());
    case 7: return map_row(x, y, n, Erf());
    case 8: return map_row(x, y, n, SinOrCos{false});
    default: return map_row(x, y, n, SinOrCos{true});
    }
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#    include "tests/support/op_check.h"

#    include <gtest/gtest.h>

#    include <bit>
#    include <cmath>

namespace ggml::cpu {
HWY_EXPORT(evaluate);
namespace {

constexpr uint32_t kStep = 40009; // about 107,000 floats

using Function = double (*)(double);

double ulps(float got, double want) {
    const double size = std::fabs(want) < 0x1p-126 ? 0x1p-149 : std::ldexp(1.0, std::ilogb(want) - 23);
    return std::fabs(got - want) / size;
}

// Largest error of a function over the sample where `in_domain`; special values must match exactly.
double largest_error(int function, Function exact, bool (*in_domain)(float)) {
    std::vector<float> x;
    for (uint64_t bits = 0; bits < 0x100000000u; bits += kStep) {
        const float v = std::bit_cast<float>(uint32_t(bits));
        if (in_domain(v)) x.push_back(v);
    }
    for (float v :
         {0.0f, -0.0f, 1.0f, -1.0f, HUGE_VALF, -HUGE_VALF, float(NAN), 0x1p-149f, 0x1.fffffep127f}) {
        if (in_domain(v)) x.push_back(v);
    }
    std::vector<float> y(x.size());
    HWY_DYNAMIC_DISPATCH(evaluate)(function, x.data(), y.data(), int64_t(x.size()));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double want = exact(x[i]);
        const float rounded = float(want);
        if (std::isfinite(rounded) && std::isfinite(y[i])) {
            worst = std::max(worst, ulps(y[i], want));
        } else {
            const bool same = std::isnan(rounded) ? std::isnan(y[i]) : rounded == y[i];
            EXPECT_TRUE(same) << "f(" << x[i] << ") = " << y[i] << ", expected " << rounded;
        }
    }
    return worst;
}

bool everywhere(float) { return true; }
bool unit(float x) { return !(x < 0.0f || x > 1.0f); }
bool normal_result(float x) { return !(x > 0.0f || x < -87.3365f); }
bool flushed(float x) { return x < -87.337f; }

void expect_bound(int function, Function exact, double bound, bool (*in_domain)(float) = everywhere) {
    test::for_each_isa([&](Isa isa) {
        EXPECT_LE(largest_error(function, exact, in_domain), bound) << "at " << isa_name(isa);
    });
}

TEST(vector_math, exp_is_within_1_1_ulp) { expect_bound(0, std::exp, 1.1); }
TEST(vector_math, exp_nonpositive_is_within_1_1_ulp_down_to_the_smallest_normal_result) {
    expect_bound(1, std::exp, 1.1, normal_result);
}
TEST(vector_math, exp_nonpositive_flushes_subnormal_results_to_zero) {
    expect_bound(
        1, [](double) { return 0.0; }, 0.0, flushed);
}
TEST(vector_math, expm1_is_within_2_ulp) { expect_bound(2, std::expm1, 2.0); }
TEST(vector_math, log_is_within_1_ulp) { expect_bound(3, std::log, 1.0); }
TEST(vector_math, log1p_on_the_unit_interval_is_within_1_5_ulp) { expect_bound(4, std::log1p, 1.5, unit); }
TEST(vector_math, tanh_is_within_3_ulp) { expect_bound(5, std::tanh, 3.0); }
TEST(vector_math, sigmoid_is_within_2_5_ulp) {
    expect_bound(
        6, [](double x) { return 1.0 / (1.0 + std::exp(-x)); }, 2.5);
}
TEST(vector_math, erf_is_within_1_5_ulp) { expect_bound(7, std::erf, 1.5); }
TEST(vector_math, sin_is_within_1_6_ulp_for_every_magnitude) { expect_bound(8, std::sin, 1.6); }
TEST(vector_math, cos_is_within_1_6_ulp_for_every_magnitude) { expect_bound(9, std::cos, 1.6); }

TEST(vector_math, a_value_gives_the_same_bits_in_every_lane_and_in_a_row_of_any_length) {
    test::for_each_isa([&](Isa isa) {
        for (int function = 0; function < 10; ++function) {
            float whole[37], x[37];
            for (int i = 0; i < 37; ++i) x[i] = -0.37f;
            HWY_DYNAMIC_DISPATCH(evaluate)(function, x, whole, 37);
            for (int i = 1; i < 37; ++i)
                EXPECT_EQ(std::bit_cast<uint32_t>(whole[i]), std::bit_cast<uint32_t>(whole[0]))
                    << "function " << function << ", element " << i << ", " << isa_name(isa);
        }
    });
}

} // namespace
} // namespace ggml::cpu
#endif
