#include "backends/cpu/kernels/glu/gate.h"
#include "backends/cpu/kernels/unary/activations.h"

namespace ggml::cpu {

float gate_scalar(const GluParams & p, float x, float g) {
    switch (ggml_glu_op(p.op)) {
    case GGML_GLU_OP_REGLU: return x > 0.0f ? x * g : 0.0f;
    case GGML_GLU_OP_GEGLU: return float(gelu(x)) * g;
    case GGML_GLU_OP_SWIGLU: return float(silu(x)) * g;
    case GGML_GLU_OP_GEGLU_ERF: return float(gelu_erf(x)) * g;
    case GGML_GLU_OP_GEGLU_QUICK: return float(gelu_quick(x)) * g;
    case GGML_GLU_OP_SWIGLU_OAI: {
        // Comparisons are ordered so that NaN stays NaN.
        const float a = p.limit < x ? p.limit : x;
        const float low = g < -p.limit ? -p.limit : g;
        const float b = p.limit < low ? p.limit : low;
        return float(a / (1.0 + std::exp(-double(p.alpha) * a))) * (b + 1.0f);
    }
    case GGML_GLU_OP_COUNT: break;
    }
    GGML_ABORT("gated operator %d is not known", int(p.op));
}

} // namespace ggml::cpu
