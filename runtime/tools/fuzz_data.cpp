#include "runtime/tools/fuzz_data.h"

#include "runtime/tools/fuzz_random.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ggml::tools {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Small, so that whatever an extension counts with them has a chance to exist.
constexpr int64_t kIntegersBelow = 64;

struct Indices {
    int64_t below = kNoLimit;
    bool distinct = false; // rows that are written at the same time must not be the same
};

// How many there are to choose from where node j takes source j for numbers; kNoLimit: it does not.
int64_t choices(const ggml_tensor * node, int j) {
    switch (node->op) {
    case GGML_OP_GET_ROWS: return j == 1 ? node->src[0]->ne[1] : kNoLimit;
    case GGML_OP_SET_ROWS: return j == 1 ? node->ne[1] : kNoLimit;
    case GGML_OP_MUL_MAT_ID: return j == 2 ? node->src[0]->ne[2] : kNoLimit;
    case GGML_OP_ADD_ID: return j == 2 ? node->src[1]->ne[1] : kNoLimit;
    // A registered operator may count along any dimension of its operands.
    case GGML_OP_CUSTOM: {
        int64_t least = kNoLimit;
        for (const ggml_tensor * src : node->src) {
            if (src == nullptr || src == node->src[j]) continue;
            for (const int64_t n : src->ne) least = n > 1 ? std::min(least, n) : least;
        }
        return least;
    }
    default: return kNoLimit;
    }
}

Indices indices_of(const FuzzProgram & program, const ggml_tensor * leaf) {
    Indices indices;
    for (const ggml_tensor * node : program.order) {
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            if (node->src[j] == nullptr || fuzz_origin(node->src[j]) != leaf) continue;
            indices.below = std::min(indices.below, choices(node, j));
            indices.distinct |= node->op == GGML_OP_SET_ROWS && j == 1;
        }
    }
    return indices;
}

bool is_integer(ggml_type type) {
    return type == GGML_TYPE_I8 || type == GGML_TYPE_I16 || type == GGML_TYPE_I32 || type == GGML_TYPE_I64;
}

template <class T>
void fill_integers(std::vector<uint8_t> & bytes, const Indices & indices, Random & random, bool keep) {
    const int64_t below = std::min(indices.below, kIntegersBelow);
    const int64_t first = int64_t(random.below(size_t(std::max<int64_t>(indices.below, 1)) % 4096));
    for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
        T value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
        if (indices.distinct) {
            value = T((first + int64_t(i)) % indices.below);
        } else if (!keep) {
            value = T(random.below(size_t(below)));
        } else if (indices.below != kNoLimit && (value < 0 || int64_t(value) >= indices.below)) {
            value = T(random.below(size_t(indices.below)));
        }
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
}

std::vector<float> random_floats(const FuzzLeaf & leaf, Random & random) {
    std::vector<float> values(size_t(ggml_nelements(leaf.tensor)));
    for (float & v : values) v = random.between(-2, 2);
    if (leaf.specials.empty()) return values;
    for (float & v : values) {
        if (random.one_in(4)) v = leaf.specials[random.below(leaf.specials.size())];
    }
    return values;
}

void encode(ggml_type type, const std::vector<float> & values, std::vector<uint8_t> & bytes, int64_t row) {
    const auto n = int64_t(values.size());
    if (type == GGML_TYPE_F32) {
        std::memcpy(bytes.data(), values.data(), bytes.size());
    } else if (type == GGML_TYPE_F16) {
        std::vector<ggml_fp16_t> halves(values.size());
        ggml_fp32_to_fp16_row(values.data(), halves.data(), n);
        std::memcpy(bytes.data(), halves.data(), bytes.size());
    } else if (type == GGML_TYPE_BF16) {
        std::vector<ggml_bf16_t> halves(values.size());
        ggml_fp32_to_bf16_row(values.data(), halves.data(), n);
        std::memcpy(bytes.data(), halves.data(), bytes.size());
    } else {
        ggml_quantize_chunk(type, values.data(), bytes.data(), 0, n / row, row, nullptr);
    }
}

} // namespace

std::vector<uint8_t> fuzz_contents(const FuzzProgram & program, const FuzzLeaf & leaf, uint64_t seed) {
    Random random(seed);
    const ggml_tensor * t = leaf.tensor;
    const bool keep = !leaf.contents.empty() && leaf.specials.empty();
    std::vector<uint8_t> bytes = keep ? leaf.contents : std::vector<uint8_t>(ggml_nbytes(t));
    if (ggml_is_empty(t)) return {};
    if (!is_integer(t->type)) {
        if (!keep) encode(t->type, random_floats(leaf, random), bytes, t->ne[0]);
        return bytes;
    }
    const Indices indices = indices_of(program, t);
    switch (t->type) {
    case GGML_TYPE_I8: fill_integers<int8_t>(bytes, indices, random, keep); break;
    case GGML_TYPE_I16: fill_integers<int16_t>(bytes, indices, random, keep); break;
    case GGML_TYPE_I32: fill_integers<int32_t>(bytes, indices, random, keep); break;
    default: fill_integers<int64_t>(bytes, indices, random, keep); break;
    }
    return bytes;
}

bool fuzz_indices_fit(const FuzzProgram & program) {
    for (const FuzzLeaf & leaf : program.leafs) {
        if (!is_integer(leaf.tensor->type) || ggml_is_empty(leaf.tensor)) continue;
        const Indices indices = indices_of(program, leaf.tensor);
        if (indices.below <= 0) return false;
        if (indices.distinct && indices.below < ggml_nelements(leaf.tensor)) return false;
    }
    return true;
}

} // namespace ggml::tools
