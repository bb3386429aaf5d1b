#include "convert/gguf_start.h"

#include "base/error.h"
#include "checkpoint/values/floats.h"
#include "gguf.h"

#include <algorithm>
#include <limits>
#include <map>

namespace sd {
namespace {

// What is read back from a file where outer dimensions of 1 are not told from none.
std::vector<int64_t> without_outer_ones(std::vector<int64_t> shape) {
    while (shape.size() > 1 && shape[0] == 1) shape.erase(shape.begin());
    return shape;
}

void append_padding(std::string & out, uint64_t alignment) {
    out.append(size_t((alignment - out.size() % alignment) % alignment), '\0');
}

} // namespace

std::vector<int64_t> gguf_shape(const std::vector<int64_t> & shape, StoredType type) {
    std::vector<int64_t> merged = shape.empty() ? std::vector<int64_t>{1} : shape;
    while (merged.size() > 1 && merged.back() % block_elements(type) != 0) {
        const int64_t inner = merged.back();
        merged.pop_back();
        merged.back() *= inner;
    }
    while (merged.size() > GGML_MAX_DIMS) {
        merged[1] *= merged[0];
        merged.erase(merged.begin());
    }
    return merged;
}

std::string gguf_start(const std::vector<PlannedTensor> & tensors, GgufPairs & pairs, uint64_t & data_bytes) {
    const uint64_t alignment = pairs.alignment();
    std::string records;
    data_bytes = 0;
    for (const PlannedTensor & t : tensors) {
        const std::vector<int64_t> shape = gguf_shape(t.source->shape, t.type);
        if (!t.source->shape.empty() && without_outer_ones(shape) != t.source->shape)
            pairs.add_integers(std::string(kOriginalShapeKey) + t.name, t.source->shape);
        append_text(records, t.name);
        append_number(records, uint32_t(shape.size()));
        std::for_each(shape.rbegin(), shape.rend(), [&](int64_t d) { append_number(records, d); });
        append_number(records, int32_t(t.type));
        append_number(records, data_bytes);
        const uint64_t most = uint64_t(std::numeric_limits<int64_t>::max()) - data_bytes;
        if (alignment > most || t.bytes > most - alignment)
            throw Error({"E_CONTAINER", {}, t.name, "does not fit, the file would be larger than any", {}});
        data_bytes += (t.bytes + alignment - 1) / alignment * alignment;
    }
    std::string out = GGUF_MAGIC;
    append_number(out, uint32_t(GGUF_VERSION));
    append_number(out, int64_t(tensors.size()));
    append_number(out, int64_t(pairs.count()));
    pairs.append_to(out);
    out += records;
    append_padding(out, alignment);
    return out;
}

std::optional<uint32_t> gguf_file_type(const std::vector<PlannedTensor> & tensors) {
    std::map<StoredType, double> elements;
    for (const PlannedTensor & t : tensors) {
        if (is_float(t.type) || is_blocks(t.type)) elements[t.type] += double(t.source->elements());
    }
    if (elements.empty()) return std::nullopt;
    const auto most = std::max_element(elements.begin(), elements.end(),
                                       [](const auto & a, const auto & b) { return a.second < b.second; });
    // The numbers of language model tools, which others follow; of their mixtures, the one with the fewest
    // larger tensors.
    static const std::map<int, uint32_t> kNumbers = {
        {GGML_TYPE_F32, 0},   {GGML_TYPE_F16, 1},   {GGML_TYPE_Q4_0, 2},  {GGML_TYPE_Q4_1, 3},
        {GGML_TYPE_Q8_0, 7},  {GGML_TYPE_Q5_0, 8},  {GGML_TYPE_Q5_1, 9},  {GGML_TYPE_Q2_K, 10},
        {GGML_TYPE_Q3_K, 11}, {GGML_TYPE_Q4_K, 14}, {GGML_TYPE_Q5_K, 16}, {GGML_TYPE_Q6_K, 18},
        {GGML_TYPE_BF16, 32},
    };
    const auto number = kNumbers.find(int(most->first));
    return number != kNumbers.end() ? std::optional(number->second) : std::nullopt;
}

} // namespace sd
