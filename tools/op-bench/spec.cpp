#include "tools/op-bench/spec.h"

#include "ggml-ext.h"
#include "tools/op-bench/failure.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace op_bench {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 46;

bool is_block_multiple(const Operand & o) { return o.ne[0] % ggml_blck_size(o.type) == 0; }

// Bytes of n elements of a row, as many as whole blocks have.
size_t row_bytes(const Operand & o) {
    return size_t(o.ne[0] / ggml_blck_size(o.type)) * ggml_type_size(o.type);
}

bool has_elements(const Operand & o) {
    return std::all_of(o.ne.begin(), o.ne.end(), [](int64_t n) { return n > 0; });
}

bool is_contiguous(const Operand & o) {
    size_t expected = ggml_type_size(o.type);
    for (size_t d = 0; d < GGML_MAX_DIMS; ++d) {
        if (o.ne[d] != 1 && o.nb[d] != expected) return false;
        expected *= size_t(d == 0 ? o.ne[0] / ggml_blck_size(o.type) : o.ne[d]);
    }
    return true;
}

// Dimensions from the closest elements to the farthest; those of one element come last.
std::array<int, GGML_MAX_DIMS> by_stride(const Operand & o) {
    std::array<int, GGML_MAX_DIMS> order;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        const bool one_a = o.ne[size_t(a)] == 1, one_b = o.ne[size_t(b)] == 1;
        return one_a != one_b ? one_b : !one_a && o.nb[size_t(a)] < o.nb[size_t(b)];
    });
    // Where elements have gaps, a dimension of one element comes first, and they lie along the second.
    const auto closest = size_t(order[0]), last = size_t(order[GGML_MAX_DIMS - 1]);
    if (o.ne[last] == 1 && o.ne[closest] > 1 && o.nb[closest] != ggml_type_size(o.type))
        std::rotate(order.begin(), order.end() - 1, order.end());
    // A view's rows begin with whole blocks, so these stay where they are.
    if (ggml_blck_size(o.type) > 1)
        std::stable_partition(order.begin(), order.end(), [](int d) { return d == 0; });
    return order;
}

ggml_tensor * strided(ggml_context * ctx, const Operand & o) {
    const auto order = by_stride(o);
    const size_t type_size = ggml_type_size(o.type);
    Sizes ne;
    std::array<size_t, GGML_MAX_DIMS> nb;
    size_t bytes = 0; // from the first element to behind the last
    for (size_t i = 0; i < GGML_MAX_DIMS; ++i) {
        const auto d = size_t(order[i]);
        ne[i] = o.ne[d];
        nb[i] = ne[i] == 1 ? (i == 0 ? type_size : nb[i - 1]) : o.nb[d];
        const auto steps = size_t(d == 0 ? ne[i] / ggml_blck_size(o.type) : ne[i]) - 1;
        if (nb[i] > kMaxBytes || (steps > 0 && nb[i] > kMaxBytes / steps))
            throw Failure(operand_text(o) + " reaches over more memory than any machine has");
        // By distance, each dimension lies outside those before it; else elements would be shared.
        if (steps > 0 && i > 0 && nb[i] < bytes + type_size)
            throw Failure(operand_text(o) + " has strides by which its elements overlap");
        bytes += steps * nb[i];
        if (i > 0 && nb[i] % type_size != 0)
            throw Failure(operand_text(o) + " has strides of no whole elements");
    }
    if (nb[0] != type_size) throw Failure(operand_text(o) + " has a gap behind each element");
    const auto blocks = int64_t((bytes + 2 * type_size - 1) / type_size);
    ggml_tensor * owner = ggml_new_tensor_1d(ctx, o.type, blocks * ggml_blck_size(o.type));
    ggml_tensor * view = ggml_view_4d(ctx, owner, ne[0], ne[1], ne[2], ne[3], nb[1], nb[2], nb[3], 0);
    return ggml_permute(ctx, view, order[0], order[1], order[2], order[3]);
}

uint32_t attr_word(const NodeSpec & spec, size_t index) {
    uint32_t word = 0;
    const size_t begin = index * sizeof(word);
    if (begin < spec.attrs.size())
        std::memcpy(&word, spec.attrs.data() + begin, std::min(sizeof(word), spec.attrs.size() - begin));
    return word;
}

} // namespace

Operand Operand::contiguous(ggml_type type, Sizes ne) {
    Operand o{true, type, ne, {}};
    (void)element_bytes(o); // or the strides would overflow
    o.nb[0] = ggml_type_size(type);
    o.nb[1] = row_bytes(o);
    for (size_t d = 2; d < GGML_MAX_DIMS; ++d) o.nb[d] = o.nb[d - 1] * size_t(ne[d - 1]);
    return o;
}

Operand Operand::of(const ggml_tensor * t) {
    if (t == nullptr) return {};
    Operand o{true, t->type, {}, {}};
    std::copy(t->ne, t->ne + GGML_MAX_DIMS, o.ne.begin());
    std::copy(t->nb, t->nb + GGML_MAX_DIMS, o.nb.begin());
    return o;
}

NodeSpec NodeSpec::of(const ggml_tensor * node) {
    NodeSpec spec{ggml_op_desc(node), {}, {}};
    for (size_t i = 0; i < GGML_MAX_SRC; ++i) {
        if (node->src[i] == nullptr) continue;
        spec.inputs.resize(i + 1);
        spec.inputs[i] = Operand::of(node->src[i]);
    }
    const ggml_ext_op_t op = ggml_ext_node_op(node);
    const auto * p =
        static_cast<const uint8_t *>(op != nullptr ? ggml_ext_node_attrs(node) : node->op_params);
    size_t n = op != nullptr ? ggml_ext_op_attr_size(op) : sizeof(node->op_params);
    while (op == nullptr && n > 0 && p[n - 1] == 0) --n;
    if (n > 0) spec.attrs.assign(p, p + n);
    return spec;
}

std::string operand_text(const Operand & o) {
    if (!o.present) return "none";
    size_t n = GGML_MAX_DIMS;
    while (n > 1 && o.ne[n - 1] == 1) --n;
    std::string text = ggml_type_name(o.type);
    for (size_t d = 0; d < n; ++d) text += (d == 0 ? " [" : ", ") + std::to_string(o.ne[d]);
    return text + (is_contiguous(o) ? "]" : "] strided");
}

std::string inputs_text(const NodeSpec & spec) {
    std::string text;
    for (const Operand & o : spec.inputs) {
        if (o.present) text += (text.empty() ? "" : ", ") + operand_text(o);
    }
    return text;
}

size_t element_bytes(const Operand & o) {
    if (!has_elements(o)) throw Failure(operand_text(o) + " has no elements");
    if (!is_block_multiple(o))
        throw Failure(operand_text(o) + ": rows are no whole blocks of " +
                      std::to_string(ggml_blck_size(o.type)));
    size_t bytes = ggml_type_size(o.type);
    for (size_t d = 0; d < GGML_MAX_DIMS; ++d) {
        const auto n = size_t(d == 0 ? o.ne[0] / ggml_blck_size(o.type) : o.ne[d]);
        if (n > kMaxBytes / bytes)
            throw Failure(operand_text(o) + " is larger than the memory of any machine");
        bytes *= n;
    }
    return bytes;
}

std::vector<ggml_tensor *> make_operands(ggml_context * ctx, const NodeSpec & spec) {
    std::vector<ggml_tensor *> tensors;
    for (const Operand & o : spec.inputs) {
        if (!o.present) {
            tensors.push_back(nullptr);
            continue;
        }
        (void)element_bytes(o);
        ggml_tensor * t =
            is_contiguous(o) ? ggml_new_tensor(ctx, o.type, GGML_MAX_DIMS, o.ne.data()) : strided(ctx, o);
        if (t == nullptr) throw Failure("no memory to describe " + operand_text(o));
        tensors.push_back(t);
    }
    return tensors;
}

float attr_float(const NodeSpec & spec, size_t index) {
    const uint32_t word = attr_word(spec, index);
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
}

int32_t attr_int(const NodeSpec & spec, size_t index) {
    const uint32_t word = attr_word(spec, index);
    int32_t value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
}

} // namespace op_bench
