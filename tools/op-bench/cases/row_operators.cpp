// The engine's operators on rows: quantization, rotary embedding, modulation. All are bounded by memory.
#include "sd-ggml-ops.h"
#include "tools/op-bench/failure.h"
#include "tools/op-bench/op_case.h"

#include <cmath>

namespace op_bench {
namespace {

const std::vector<Param> kQuantizeParams = {{"m", "1024", {}}, {"k", "6144", {}}, {"group", "256", {}}};
const std::vector<Param> kModulateParams = {{"m", "1024", {}}, {"k", "6144", {}}, {"shift", "1", {"0", "1"}}};
const std::vector<Param> kRopeParams = {{"head", "128", {}},
                                        {"heads", "24", {}},
                                        {"tokens", "1024", {}},
                                        {"batch", "1", {}},
                                        {"interleaved", "1", {"0", "1"}}};

NodeSpec quantize(const Shape & shape) {
    if (shape.number("group") > INT32_MAX) throw Failure("'group' is too large");
    const SpecBuilder b;
    ggml_tensor * x = b.operand(GGML_TYPE_F32, {shape.number("k"), shape.number("m"), 1, 1});
    return b.finish(ggml_quantize_i8_convrot(b.ctx(), x, int(shape.number("group"))));
}

NodeSpec modulate(const Shape & shape) {
    const SpecBuilder b;
    ggml_tensor * x = b.operand(GGML_TYPE_F32, {shape.number("k"), shape.number("m"), 1, 1});
    ggml_tensor * scale = b.operand(GGML_TYPE_F32, {shape.number("k"), 1, 1, 1});
    ggml_tensor * shift =
        shape.is("shift", "1") ? b.operand(GGML_TYPE_F32, {shape.number("k"), 1, 1, 1}) : nullptr;
    return b.finish(ggml_ext_modulate(b.ctx(), x, shift, scale));
}

NodeSpec rope(const Shape & shape) {
    const SpecBuilder b;
    const int64_t head = shape.number("head"), tokens = shape.number("tokens");
    if (head < 2) throw Failure("'head' has at least one pair, 2 elements");
    ggml_tensor * x = b.operand(GGML_TYPE_F32, {head, shape.number("heads"), tokens, shape.number("batch")});
    ggml_tensor * pe = b.operand(GGML_TYPE_F32, {2, 2, head / 2, tokens});
    return b.finish(ggml_ext_rope_apply(b.ctx(), x, pe, shape.is("interleaved", "1")));
}

double elements(const ggml_tensor * t) { return double(ggml_nelements(t)); }

// For each element: its share of the butterflies, one addition for each doubling of the group that the data
// went through, then magnitude, maximum, product and rounding. The group is the operator's first attribute.
Work quantize_work(const ggml_tensor * node) {
    const int group = attr_int(NodeSpec::of(node), 0);
    return {elements(node->src[0]) * (std::log2(double(group > 0 ? group : 1)) + 4), Arithmetic::none};
}

// x * scale, + x, + shift.
Work modulate_work(const ggml_tensor * node) {
    const bool has_shift = NodeSpec::of(node).inputs.size() > 2;
    return {elements(node) * (has_shift ? 3 : 2), Arithmetic::none};
}

// Four products and two sums for two elements.
Work rope_work(const ggml_tensor * node) {
    const ggml_tensor * x = node->src[0];
    return {6.0 * double(node->src[1]->ne[2]) * double(ggml_nrows(x)), Arithmetic::none};
}

} // namespace

void add_row_operators(std::vector<OpCase> & cases) {
    // All of their kernels promise the bits of the reference.
    cases.push_back({"sd.quantize_i8_convrot.v1",
                     "rotates and quantizes x [k, m]",
                     kQuantizeParams,
                     "m=5,k=512",
                     quantize,
                     build_registered<1>,
                     quantize_work,
                     nullptr,
                     {0, 0, 0}});
    cases.push_back({"sd.modulate.v1",
                     "x + x * scale + shift, x [k, m]",
                     kModulateParams,
                     "m=5,k=67",
                     modulate,
                     build_registered<3>,
                     modulate_work,
                     nullptr,
                     {0, 0, 0}});
    cases.push_back({"sd.rope_apply.v1",
                     "rotary embedding of x [head, heads, tokens, batch]",
                     kRopeParams,
                     "head=20,heads=3,tokens=5",
                     rope,
                     build_registered<2>,
                     rope_work,
                     nullptr,
                     {0, 0, 0}});
}

} // namespace op_bench
