// MUL_MAT with the weight types of models.
#include "tools/op-bench/failure.h"
#include "tools/op-bench/op_case.h"

namespace op_bench {
namespace {

const std::vector<Param> kParams = {
    {"m", "256", {}},
    {"k", "3072", {}},
    {"n", "3072", {}},
    {"batch", "1", {}},
    {"type", "f16", {"f32", "f16", "bf16", "q4_0", "q8_0", "q4_K", "q5_K", "q6_K"}},
};

ggml_type type_of(const std::string & name) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const char * other = ggml_type_name(ggml_type(i));
        if (other != nullptr && other == name) return ggml_type(i);
    }
    throw Failure("there is no type '" + name + "'");
}

NodeSpec from_shape(const Shape & shape) {
    const int64_t k = shape.number("k"), batch = shape.number("batch");
    return {"MUL_MAT",
            {Operand::contiguous(type_of(shape.word("type")), {k, shape.number("n"), batch, 1}),
             Operand::contiguous(GGML_TYPE_F32, {k, shape.number("m"), batch, 1})},
            {}};
}

ggml_tensor * build(ggml_context * ctx, const NodeSpec & spec, const std::vector<ggml_tensor *> & in) {
    require_inputs(spec, 2, 2);
    const ggml_tensor *a = in[0], *b = in[1];
    require(a->ne[0] == b->ne[0], spec, "rows differ in length");
    require(repeats(a->ne[2], b->ne[2]) && repeats(a->ne[3], b->ne[3]), spec, "batches do not repeat");
    require(!ggml_is_transposed(a), spec, "the first is transposed");
    (void)Operand::contiguous(GGML_TYPE_F32, {a->ne[1], b->ne[1], b->ne[2], b->ne[3]});
    ggml_tensor * node = ggml_mul_mat(ctx, in[0], in[1]);
    ggml_mul_mat_set_prec(node, ggml_prec(attr_int(spec, 0)));
    ggml_mul_mat_set_hint(node, ggml_op_hint(attr_int(spec, 1)));
    return node;
}

Work work(const ggml_tensor * node) {
    const double products = double(ggml_nelements(node)) * double(node->src[0]->ne[0]);
    return {2.0 * products, ggml_is_quantized(node->src[0]->type) ? Arithmetic::int8_dot : Arithmetic::fma};
}

} // namespace

void add_matmul(std::vector<OpCase> & cases) {
    // Implementations add in any order and may round activations as the weights are: relative to the result's
    // size, not to each element.
    cases.push_back({"MUL_MAT",
                     "x [k, m] times weight [k, n] of a type",
                     kParams,
                     "m=5,k=256,n=24",
                     from_shape,
                     build,
                     work,
                     nullptr,
                     {1e30, 0, 1e-3}});
}

} // namespace op_bench
