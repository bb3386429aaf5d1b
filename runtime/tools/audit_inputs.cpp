#include "runtime/tools/audit_inputs.h"

#include "ggml-backend.h"
#include "runtime/graph/graph.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ggml::tools {
namespace {

// SplitMix64: every seed gives an independent sequence.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    float symmetric() { return float(next() >> 40) * 0x1p-23f - 1; } // [-1, 1)

  private:
    uint64_t state_;
};

// Positive without exception, so that `negated` differs from it in every sign.
float value_of(Fill fill, Random & random) {
    const float value = random.symmetric();
    const float positive = 0.25f + (value + 1) * 0.5f;
    switch (fill) {
    case Fill::random: return positive;
    case Fill::negated: return -positive;
    case Fill::zero: return 0;
    case Fill::large: return 100 * value;
    }
    return 0;
}

// How many rows those who use a tensor of integers as indices can look up.
int64_t index_limit(const ggml_tensor * leaf, const ggml_cgraph * graph) {
    int64_t limit = 2; // nobody does: small numbers, of which none is special to anybody
    bool known = false;
    const auto looks_up = [&](int64_t n) {
        limit = known ? std::min(limit, n) : n;
        known = true;
    };
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor * node = graph->nodes[i];
        for (const ggml_tensor * src : node->src) {
            if (src != leaf && (src == nullptr || src->view_src != leaf)) continue;
            if (node->op == GGML_OP_GET_ROWS) looks_up(node->src[0]->ne[1]);
            if (node->op == GGML_OP_SET_ROWS) looks_up(node->ne[1]);
            if (node->op == GGML_OP_MUL_MAT_ID) looks_up(node->src[0]->ne[2]);
            if (node->op == GGML_OP_ADD_ID) looks_up(node->src[1]->ne[1]);
        }
    }
    return std::max<int64_t>(limit, 1);
}

// Distinct while they last: rows written twice would make the result a matter of order.
int64_t index_at(int64_t i, int64_t limit, Fill fill) {
    const int64_t value = std::min<int64_t>(i % limit, INT8_MAX); // every type holds it
    return fill == Fill::negated ? std::min<int64_t>(limit - 1, INT8_MAX) - value : value;
}

template <class T>
void set_integers(ggml_tensor * leaf, int64_t limit, int64_t start, Fill fill) {
    std::vector<T> values(ggml_nbytes(leaf) / sizeof(T));
    for (size_t i = 0; i < values.size(); ++i) values[i] = T(index_at(int64_t(i) + start, limit, fill));
    ggml_backend_tensor_set(leaf, values.data(), 0, values.size() * sizeof(T));
}

void set_values(ggml_tensor * leaf, Fill fill, Random random) {
    const TypeInfo & info = type_info(leaf->type);
    std::vector<char> bytes(ggml_nbytes(leaf)); // zeros are valid in every type
    if (info.from_float != nullptr) {
        std::vector<float> values(bytes.size() / info.bytes * size_t(info.block));
        for (float & value : values) value = value_of(fill, random);
        info.from_float(values.data(), bytes.data(), int64_t(values.size()));
    }
    ggml_backend_tensor_set(leaf, bytes.data(), 0, bytes.size());
}

} // namespace

const char * fill_name(Fill fill) {
    switch (fill) {
    case Fill::random: return "positive random inputs";
    case Fill::negated: return "negative random inputs";
    case Fill::zero: return "zeros";
    case Fill::large: return "large random inputs";
    }
    return "";
}

void fill_input(ggml_tensor * leaf, const ggml_cgraph * graph, int number, Fill fill) {
    if (ggml_is_empty(leaf)) return;
    const int64_t limit = index_limit(leaf, graph);
    const int64_t start = fill == Fill::zero ? 0 : number + int64_t(fill);
    switch (leaf->type) {
    case GGML_TYPE_I8: set_integers<int8_t>(leaf, limit, start, fill); break;
    case GGML_TYPE_I16: set_integers<int16_t>(leaf, limit, start, fill); break;
    case GGML_TYPE_I32: set_integers<int32_t>(leaf, limit, start, fill); break;
    case GGML_TYPE_I64: set_integers<int64_t>(leaf, limit, start, fill); break;
    // `negated` starts where `random` does.
    default: set_values(leaf, fill, Random(uint64_t(number) * 2 + (fill == Fill::large ? 1 : 0))); break;
    }
}

} // namespace ggml::tools
