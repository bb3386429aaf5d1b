// sd.linear_i8.v1. Its activations come as floats, as codes with a scale for each row, or packed.
#include "sd-ggml-ops.h"
#include "tools/op-bench/failure.h"
#include "tools/op-bench/op_case.h"

namespace op_bench {
namespace {

const std::vector<Param> kParams = {
    {"m", "256", {}},
    {"k", "3072", {}},
    {"n", "3072", {}},
    {"group", "256", {}},
    {"input", "f32", {"f32", "codes", "packed"}},
    {"bias", "1", {"0", "1"}},
};

NodeSpec from_shape(const Shape & shape) {
    const int64_t m = shape.number("m"), k = shape.number("k"), n = shape.number("n");
    if (shape.number("group") > INT32_MAX) throw Failure("'group' is too large");
    const int group = int(shape.number("group"));
    const SpecBuilder b;
    ggml_tensor * weight = b.operand(GGML_TYPE_I8, {k, n, 1, 1});
    ggml_tensor * x = b.operand(shape.is("input", "codes") ? GGML_TYPE_I8 : GGML_TYPE_F32, {k, m, 1, 1});
    ggml_tensor * x_scale = shape.is("input", "codes") ? b.operand(GGML_TYPE_F32, {m, 1, 1, 1}) : nullptr;
    if (shape.is("input", "packed")) x = ggml_quantize_i8_convrot(b.ctx(), x, group);
    if (x == nullptr) throw Failure(ggml_ext_last_message());
    ggml_tensor * scale = b.operand(GGML_TYPE_F32, {n, 1, 1, 1});
    ggml_tensor * bias = shape.is("bias", "1") ? b.operand(GGML_TYPE_F32, {n, 1, 1, 1}) : nullptr;
    return b.finish(ggml_mul_mat_i8_tensorwise(b.ctx(), weight, x, scale, bias, group, x_scale));
}

Work work(const ggml_tensor * node) {
    const double products = double(ggml_nelements(node)) * double(node->src[0]->ne[0]);
    return {2.0 * products, Arithmetic::int8_dot};
}

void prepare_inputs(const ggml_tensor * node) {
    if (node->src[1]->type == GGML_TYPE_I8) set_packed_scales(node->src[1], ggml_nrows(node));
}

} // namespace

void add_linear_i8(std::vector<OpCase> & cases) {
    // Every kernel promises the bits of the reference.
    cases.push_back({"sd.linear_i8.v1",
                     "INT8 linear layer: x [k, m], weight [k, n]",
                     kParams,
                     "m=5,k=512,n=24",
                     from_shape,
                     build_registered<5>,
                     work,
                     prepare_inputs,
                     {0, 0, 0}});
}

} // namespace op_bench
