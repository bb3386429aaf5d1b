// FLASH_ATTN_EXT.
#include "tools/op-bench/op_case.h"

#include <cmath>
#include <cstring>

namespace op_bench {
namespace {

const std::vector<Param> kParams = {
    {"head", "128", {}},       {"heads", "8", {}}, {"queries", "1024", {}},
    {"keys", "1024", {}},      {"batch", "1", {}}, {"type", "f16", {"f16", "f32"}},
    {"mask", "0", {"0", "1"}},
};

NodeSpec from_shape(const Shape & shape) {
    const int64_t head = shape.number("head"), heads = shape.number("heads"), batch = shape.number("batch");
    const int64_t queries = shape.number("queries"), keys = shape.number("keys");
    const ggml_type type = shape.is("type", "f16") ? GGML_TYPE_F16 : GGML_TYPE_F32;
    const Operand kv = Operand::contiguous(type, {head, keys, heads, batch});
    NodeSpec spec{"FLASH_ATTN_EXT",
                  {Operand::contiguous(GGML_TYPE_F32, {head, queries, heads, batch}), kv, kv},
                  std::vector<uint8_t>(sizeof(float))};
    if (shape.is("mask", "1"))
        spec.inputs.push_back(Operand::contiguous(GGML_TYPE_F16, {keys, queries, 1, 1}));
    const float scale = 1 / std::sqrt(float(head));
    std::memcpy(spec.attrs.data(), &scale, sizeof(scale));
    return spec;
}

void require_mask(const NodeSpec & spec, const ggml_tensor * q, const ggml_tensor * k,
                  const ggml_tensor * mask) {
    require(mask->type == GGML_TYPE_F16 && ggml_is_contiguous(mask), spec, "the mask is not contiguous f16");
    require(mask->ne[0] >= k->ne[1] && mask->ne[1] >= q->ne[1], spec, "the mask is too small");
    require(repeats(mask->ne[2], q->ne[2]) && repeats(mask->ne[3], q->ne[3]), spec,
            "the mask does not repeat");
}

ggml_tensor * build(ggml_context * ctx, const NodeSpec & spec, const std::vector<ggml_tensor *> & in) {
    require_inputs(spec, 3, 5);
    const ggml_tensor *q = in[0], *k = in[1], *v = in[2];
    ggml_tensor *mask = in.size() > 3 ? in[3] : nullptr, *sinks = in.size() > 4 ? in[4] : nullptr;
    require(q->ne[0] == k->ne[0] && k->ne[1] == v->ne[1], spec, "queries, keys and values do not fit");
    require(repeats(k->ne[2], q->ne[2]) && repeats(v->ne[2], q->ne[2]), spec, "heads do not repeat");
    require(q->ne[3] == k->ne[3] && q->ne[3] == v->ne[3], spec, "batches differ");
    if (mask != nullptr) require_mask(spec, q, k, mask);
    require(mask != nullptr || !(attr_float(spec, 1) > 0.0f), spec, "max_bias without a mask");
    require(sinks == nullptr || (sinks->type == GGML_TYPE_F32 && sinks->ne[0] == q->ne[2]), spec,
            "there is not one f32 sink per head");
    (void)Operand::contiguous(GGML_TYPE_F32, {v->ne[0], q->ne[2], q->ne[1], q->ne[3]});
    ggml_tensor * node = ggml_flash_attn_ext(ctx, in[0], in[1], in[2], mask, attr_float(spec, 0),
                                             attr_float(spec, 1), attr_float(spec, 2));
    ggml_flash_attn_ext_set_prec(node, ggml_prec(attr_int(spec, 3)));
    ggml_flash_attn_ext_add_sinks(node, sinks);
    return node;
}

// Both products; the exponentials between them are left out, as everybody does who compares attention.
Work work(const ggml_tensor * node) {
    const ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2];
    const double pairs = double(ggml_nrows(q)) * double(k->ne[1]);
    return {2.0 * pairs * double(k->ne[0] + v->ne[0]), Arithmetic::fma};
}

} // namespace

void add_attention(std::vector<OpCase> & cases) {
    cases.push_back({"FLASH_ATTN_EXT",
                     "attention, q [head, queries, heads, batch]",
                     kParams,
                     "head=32,heads=2,queries=9,keys=17",
                     from_shape,
                     build,
                     work,
                     nullptr,
                     {1e30, 0, 1e-5}});
}

} // namespace op_bench
