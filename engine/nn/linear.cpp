#include "nn/linear.h"

#include "nn/correction.h"
#include "nn/operators.h"

namespace sd {
namespace {

ggml_tensor * product(Graph & g, const Linear & l, ggml_tensor * x, ggml_tensor * bias) {
    if (l.kind != Linear::Kind::floats) return integer_product(g, l, g.packed(x, l.group), bias);
    ggml_tensor * y = ggml_mul_mat(g.ctx(), l.weight, x);
    return bias != nullptr ? ggml_add(g.ctx(), y, bias) : y;
}

ggml_tensor * uncorrected(Graph & g, const Linear & l, ggml_tensor * x, float input_scale) {
    if (input_scale == 1.0f) return product(g, l, x, l.bias);
    ggml_tensor * y = product(g, l, ggml_scale(g.ctx(), x, input_scale), nullptr);
    y = ggml_scale(g.ctx(), y, 1.0f / input_scale);
    return l.bias != nullptr ? ggml_add(g.ctx(), y, l.bias) : y;
}

} // namespace

ggml_tensor * linear(Graph & g, const Linear & l, ggml_tensor * x, float input_scale) {
    ggml_tensor * y = uncorrected(g, l, x, input_scale);
    return l.correction.empty() ? y : ggml_add(g.ctx(), y, correction(g, l.correction, x));
}

} // namespace sd
