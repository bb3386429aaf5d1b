// The vector functions on NEON against the C library in double, over a coarse sample of all floats: every
// exponent, both signs, subnormals, infinities and NaN included. Bounds are those of vector_math-inl.h.
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/vector_rows-inl.h"
#include "tests/cross/aarch64/check.h"

#include <bit>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

#define GGML_MAP_ROW(name, expression)                                                                       \
    void name(const float * x, float * y, int64_t n) {                                                       \
        map_row(x, y, n, [](auto d, auto v) HWY_ATTR { return expression; });                                \
    }
GGML_MAP_ROW(exp_row, vexp(d, v))
GGML_MAP_ROW(exp_nonpositive_row, vexp_nonpositive(d, v))
GGML_MAP_ROW(expm1_row, vexpm1(d, v))
GGML_MAP_ROW(log_row, vlog(d, v))
GGML_MAP_ROW(log1p_row, vlog1p_unit(d, v))
GGML_MAP_ROW(tanh_row, vtanh(d, v))
GGML_MAP_ROW(sigmoid_row, vsigmoid(d, v))
GGML_MAP_ROW(erf_row, verf(d, v))
#undef GGML_MAP_ROW

void sin_row(const float * x, float * y, int64_t n) {
    map_row(x, y, n, [](auto d, auto v) HWY_ATTR {
        auto s = v, c = v;
        vsin_cos(d, v, s, c);
        return s;
    });
}
void cos_row(const float * x, float * y, int64_t n) {
    map_row(x, y, n, [](auto d, auto v) HWY_ATTR {
        auto s = v, c = v;
        vsin_cos(d, v, s, c);
        return c;
    });
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace ggml::cross {
namespace {

namespace simd = cpu::HWY_NAMESPACE;

constexpr uint32_t kStep = 80021; // about 54,000 floats

bool everywhere(float) { return true; }
bool unit(float x) { return !(x < 0.0f || x > 1.0f); }
// Where exp has normal results, and where vexp_nonpositive gives 0 instead of a subnormal.
bool normal_result(float x) { return !(x > 0.0f || x < -87.3365f); }
bool flushed(float x) { return x < -87.337f; }

double zero(double) { return 0.0; }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

struct Function {
    const char * name;
    void (*row)(const float *, float *, int64_t);
    double (*exact)(double);
    double bound; // ulp
    bool (*in_domain)(float);
};
const Function kFunctions[] = {
    {"exp", simd::exp_row, std::exp, 1.1, everywhere},
    {"exp of nonpositive", simd::exp_nonpositive_row, std::exp, 1.1, normal_result},
    {"exp flushed to zero", simd::exp_nonpositive_row, zero, 0.0, flushed},
    {"expm1", simd::expm1_row, std::expm1, 2.0, everywhere},
    {"log", simd::log_row, std::log, 1.0, everywhere},
    {"log1p on the unit interval", simd::log1p_row, std::log1p, 1.5, unit},
    {"tanh", simd::tanh_row, std::tanh, 3.0, everywhere},
    {"sigmoid", simd::sigmoid_row, sigmoid, 2.5, everywhere},
    {"erf", simd::erf_row, std::erf, 1.5, everywhere},
    {"sin", simd::sin_row, std::sin, 1.6, everywhere},
    {"cos", simd::cos_row, std::cos, 1.6, everywhere},
};

void check_bound(const Function & f) {
    std::vector<float> x;
    for (uint64_t bits = 0; bits < 0x100000000u; bits += kStep) {
        const float v = std::bit_cast<float>(uint32_t(bits));
        if (f.in_domain(v)) x.push_back(v);
    }
    for (float v :
         {0.0f, -0.0f, 1.0f, -1.0f, HUGE_VALF, -HUGE_VALF, float(NAN), 0x1p-149f, 0x1.fffffep127f}) {
        if (f.in_domain(v)) x.push_back(v);
    }
    std::vector<float> y(x.size());
    f.row(x.data(), y.data(), int64_t(x.size()));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double want = f.exact(x[i]);
        require(agrees(y[i], want, f.bound), "%s(%a) is %a, expected %a within %g ulp", f.name, x[i], y[i],
                want, f.bound);
        if (std::isfinite(y[i])) worst = std::max(worst, ulps(y[i], want));
    }
    passed("%s: largest error %.2f ulp of %g allowed, %zu floats", f.name, worst, f.bound, x.size());
}

// A value gives the same bits in every lane and in the last, partial vector.
void check_lanes(const Function & f) {
    float x[37], y[37];
    for (float & v : x) v = f.in_domain(0.37f) ? 0.37f : f.in_domain(-0.37f) ? -0.37f : -90.0f;
    f.row(x, y, 37);
    for (int i = 1; i < 37; ++i) {
        require(std::bit_cast<uint32_t>(y[i]) == std::bit_cast<uint32_t>(y[0]),
                "%s: element %d is %a, element 0 is %a", f.name, i, y[i], y[0]);
    }
}

} // namespace

void check_vector_math() {
    for (const Function & f : kFunctions) {
        check_bound(f);
        check_lanes(f);
    }
    passed("the same bits in every lane, %zu functions", std::size(kFunctions));
}

} // namespace ggml::cross
