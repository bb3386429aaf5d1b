// Gated activations on NEON against their formulas in double, within the errors activations-inl.h states.
#include "backends/cpu/kernels/glu/gate.h"
#include "tests/cross/aarch64/check.h"

#include <cmath>

namespace ggml::cross {
namespace {

double silu(double x, double slope) { return x / (1.0 + std::exp(-slope * x)); }
double gelu(double x) {
    const double u = 0.79788456080286535588 * x * (1.0 + 0.044715 * x * x);
    return 0.5 * x * (1.0 + std::tanh(u));
}
double gelu_erf(double x) { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }

double activation(ggml_glu_op op, double x) {
    switch (op) {
    case GGML_GLU_OP_REGLU: return x > 0 ? x : 0.0;
    case GGML_GLU_OP_GEGLU: return gelu(x);
    case GGML_GLU_OP_GEGLU_ERF: return gelu_erf(x);
    case GGML_GLU_OP_GEGLU_QUICK: return silu(x, double(1.702f));
    default: return silu(x, 1.0);
    }
}

// Error of the activation; the product with the gate rounds once more.
bool is_accurate(ggml_glu_op op, float x, float g, float y) {
    const double want = activation(op, x) * g;
    switch (op) {
    case GGML_GLU_OP_REGLU: return agrees(y, want, 0.5);
    case GGML_GLU_OP_SWIGLU: return agrees(y, want, 5.0);
    default: return is_close(y, want, 0x1p-22 * std::fabs(double(x) * g), 0x1p-24);
    }
}

void check_gate(const char * name, ggml_glu_op op) {
    const GluParams params{int32_t(op), 0, 0, 0};
    Random random(uint32_t(op) + 17);
    for (int64_t n : {1, 3, 4, 6, 509}) {
        const std::vector<float> x = random.floats(n, -12, 12), g = random.floats(n, -3, 3);
        std::vector<float> y(x.size());
        cpu::gate_row(params, x.data(), g.data(), y.data(), n);
        for (size_t i = 0; i < y.size(); ++i) {
            require(is_accurate(op, x[i], g[i], y[i]), "%s(%a) * %a is %a, expected %a", name, x[i], g[i],
                    y[i], activation(op, x[i]) * g[i]);
        }
    }
    passed("%s", name);
}

void check_oai_gate() {
    const GluParams params{int32_t(GGML_GLU_OP_SWIGLU_OAI), 0, 1.702f, 7.0f};
    Random random(5);
    const std::vector<float> x = random.floats(509, -12, 12), g = random.floats(509, -12, 12);
    std::vector<float> y(x.size());
    cpu::gate_row(params, x.data(), g.data(), y.data(), int64_t(x.size()));
    for (size_t i = 0; i < y.size(); ++i) {
        const double a = std::fmin(x[i], 7.0), b = std::fmin(std::fmax(g[i], -7.0), 7.0);
        const double want = silu(a, double(1.702f)) * (b + 1.0);
        require(is_close(y[i], want, 0x1p-22 * std::fabs(a) * (std::fabs(b) + 1.0)),
                "limited gate of %a and %a is %a, expected %a", x[i], g[i], y[i], want);
    }
    passed("swiglu_oai");
}

// A closed gate is 0 even when what it multiplies is not a number.
void check_closed_gate() {
    const GluParams params{int32_t(GGML_GLU_OP_REGLU), 0, 0, 0};
    const float x[] = {-1.0f, 0.0f, -2.0f, NAN, 1.0f}, g[] = {NAN, HUGE_VALF, -HUGE_VALF, 1.0f, NAN};
    float y[5];
    cpu::gate_row(params, x, g, y, 5);
    for (int i = 0; i < 4; ++i) require(y[i] == 0.0f, "closed gate %d is %a, expected 0", i, y[i]);
    require(std::isnan(y[4]), "an open gate must let NaN through, got %a", y[4]);
    passed("closed gates");
}

} // namespace

void check_gates() {
    check_gate("reglu", GGML_GLU_OP_REGLU);
    check_gate("geglu", GGML_GLU_OP_GEGLU);
    check_gate("swiglu", GGML_GLU_OP_SWIGLU);
    check_gate("geglu_erf", GGML_GLU_OP_GEGLU_ERF);
    check_gate("geglu_quick", GGML_GLU_OP_GEGLU_QUICK);
    check_oai_gate();
    check_closed_gate();
}

} // namespace ggml::cross
