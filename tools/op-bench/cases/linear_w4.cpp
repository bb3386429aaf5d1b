// sd.linear_w4_convrot.v1, in both formats. Its activations are always packed.
#include "sd-ggml-ops.h"
#include "tools/op-bench/failure.h"
#include "tools/op-bench/op_case.h"

namespace op_bench {
namespace {

constexpr int64_t kBookGroup = 16, kBookLevels = 16;
constexpr size_t kRelativeScale = 5; // its place among the inputs

const std::vector<Param> kParams = {
    {"m", "256", {}},     {"k", "3072", {}},         {"n", "3072", {}},
    {"group", "256", {}}, {"bias", "1", {"0", "1"}}, {"format", "w4a4", {"w4a4", "w4a8"}},
};

NodeSpec from_shape(const Shape & shape) {
    const int64_t m = shape.number("m"), k = shape.number("k"), n = shape.number("n");
    if (shape.number("group") > INT32_MAX) throw Failure("'group' is too large");
    const int group = int(shape.number("group"));
    const bool book = shape.is("format", "w4a8");
    if (k % (book ? kBookGroup : 2) != 0) throw Failure(book ? "'k' is a multiple of 16" : "'k' is even");
    const SpecBuilder b;
    ggml_tensor * weight = b.operand(GGML_TYPE_I8, {k / 2, n, 1, 1});
    ggml_tensor * x = b.operand(GGML_TYPE_F32, {k, m, 1, 1});
    ggml_tensor * scale = b.operand(GGML_TYPE_F32, {n, 1, 1, 1}); // of weights or channels
    ggml_tensor *codebook = nullptr, *relative = nullptr;
    if (book) {
        codebook = b.operand(GGML_TYPE_F32, {kBookLevels, 1, 1, 1});
        relative = b.operand(GGML_TYPE_I8, {k / kBookGroup, n, 1, 1});
    }
    ggml_tensor * bias = shape.is("bias", "1") ? b.operand(GGML_TYPE_F32, {n, 1, 1, 1}) : nullptr;
    return b.finish(ggml_mul_mat_w4_convrot(b.ctx(), weight, x, book ? nullptr : scale, codebook,
                                            book ? scale : nullptr, relative, bias, group));
}

// Two columns in a byte. A codebook of floats is no integer dot product.
Work work(const ggml_tensor * node) {
    const double products = double(ggml_nelements(node)) * 2.0 * double(node->src[0]->ne[0]);
    return {2.0 * products, node->src[kRelativeScale] ? Arithmetic::fma : Arithmetic::int8_dot};
}

void prepare_inputs(const ggml_tensor * node) {
    set_packed_scales(node->src[1], ggml_nrows(node));
    const ggml_tensor * relative = node->src[kRelativeScale];
    if (relative == nullptr) return;
    auto * bytes = static_cast<uint8_t *>(relative->data);
    for (int64_t i = 0; i < ggml_nelements(relative); ++i) {
        if ((bytes[i] & 0x7f) == 0x7f) bytes[i] = 0x38; // a NaN becomes 1
    }
}

} // namespace

void add_linear_w4(std::vector<OpCase> & cases) {
    // W4A8 sums floats, in an order that is the kernel's own.
    cases.push_back({"sd.linear_w4_convrot.v1",
                     "4-bit linear layer: x [k, m], weight [k, n]",
                     kParams,
                     "m=5,k=512,n=24",
                     from_shape,
                     build_registered<7>,
                     work,
                     prepare_inputs,
                     {1e30, 0, 1e-10}});
}

} // namespace op_bench
