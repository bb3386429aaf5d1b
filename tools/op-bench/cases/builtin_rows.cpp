// Built-in operators on rows that models use around their layers. All are bounded by memory.
#include "tools/op-bench/op_case.h"

#include <cstring>

namespace op_bench {
namespace {

const std::vector<Param> kParams = {{"m", "1024", {}}, {"k", "6144", {}}};
const std::vector<Param> kPairParams = {
    {"m", "1024", {}}, {"k", "6144", {}}, {"second", "row", {"row", "same"}}};

std::vector<uint8_t> float_attr(float value) {
    std::vector<uint8_t> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
}

Operand rows(const Shape & shape) {
    return Operand::contiguous(GGML_TYPE_F32, {shape.number("k"), shape.number("m"), 1, 1});
}

NodeSpec rms_norm(const Shape & shape) { return {"RMS_NORM", {rows(shape)}, float_attr(1e-6f)}; }
NodeSpec soft_max(const Shape & shape) { return {"SOFT_MAX", {rows(shape)}, float_attr(1.0f)}; }

NodeSpec pair(const char * op, const Shape & shape) {
    const Operand x = rows(shape);
    const Operand row = Operand::contiguous(GGML_TYPE_F32, {shape.number("k"), 1, 1, 1});
    return {op, {x, shape.is("second", "row") ? row : x}, {}};
}

ggml_tensor * build_rms_norm(ggml_context * ctx, const NodeSpec & spec,
                             const std::vector<ggml_tensor *> & in) {
    require_inputs(spec, 1, 1);
    require(attr_float(spec, 0) >= 0.0f, spec, "a negative eps");
    return ggml_rms_norm(ctx, in[0], attr_float(spec, 0));
}

template <auto builder>
ggml_tensor * build_pair(ggml_context * ctx, const NodeSpec & spec, const std::vector<ggml_tensor *> & in) {
    require_inputs(spec, 2, 2);
    require(ggml_can_repeat(in[1], in[0]), spec, "the second does not repeat into the first");
    return builder(ctx, in[0], in[1]);
}

ggml_tensor * build_soft_max(ggml_context * ctx, const NodeSpec & spec,
                             const std::vector<ggml_tensor *> & in) {
    require_inputs(spec, 1, 3);
    const ggml_tensor * a = in[0];
    ggml_tensor *mask = in.size() > 1 ? in[1] : nullptr, *sinks = in.size() > 2 ? in[2] : nullptr;
    require(ggml_is_contiguous(a), spec, "the first is not contiguous");
    if (mask != nullptr) {
        require(mask->type == GGML_TYPE_F16 || mask->type == GGML_TYPE_F32, spec, "a mask of that type");
        require(ggml_is_contiguous(mask) && mask->ne[0] == a->ne[0] && mask->ne[1] >= a->ne[1] &&
                    repeats(mask->ne[2], a->ne[2]) && repeats(mask->ne[3], a->ne[3]),
                spec, "the mask does not fit");
    }
    require(mask != nullptr || !(attr_float(spec, 1) > 0.0f), spec, "max_bias without a mask");
    require(sinks == nullptr || (sinks->type == GGML_TYPE_F32 && sinks->ne[0] == a->ne[2]), spec,
            "there is not one f32 sink per head");
    ggml_tensor * node = ggml_soft_max_ext(ctx, in[0], mask, attr_float(spec, 0), attr_float(spec, 1));
    ggml_soft_max_add_sinks(node, sinks);
    return node;
}

template <int per_element>
Work work(const ggml_tensor * node) {
    return {per_element * double(ggml_nelements(node)), Arithmetic::none};
}

} // namespace

void add_builtin_rows(std::vector<OpCase> & cases) {
    const ggml_ext_tolerance close = {1e30, 0, 1e-9}, exact = {0, 0, 0};
    // Square, add and scale.
    cases.push_back({"RMS_NORM", "root mean square norm of x [k, m]", kParams, "m=5,k=67", rms_norm,
                     build_rms_norm, work<3>, nullptr, close});
    cases.push_back({"ADD", "x [k, m] + a row of k, or as many rows", kPairParams, "m=5,k=67",
                     [](const Shape & s) { return pair("ADD", s); }, build_pair<ggml_add>, work<1>, nullptr,
                     exact});
    cases.push_back({"MUL", "x [k, m] * a row of k, or as many rows", kPairParams, "m=5,k=67",
                     [](const Shape & s) { return pair("MUL", s); }, build_pair<ggml_mul>, work<1>, nullptr,
                     exact});
    // Maximum, difference, exponential (counted as one), sum and product.
    cases.push_back({"SOFT_MAX", "soft maximum of x [k, m]", kParams, "m=5,k=67", soft_max, build_soft_max,
                     work<5>, nullptr, close});
}

} // namespace op_bench
