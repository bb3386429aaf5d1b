#include "runtime/gguf/read.h"

#include <algorithm>
#include <cinttypes>

namespace ggml::gguf {
namespace {

Status read_strings(Source & source, uint64_t count, Pair & pair) {
    std::string text;
    for (uint64_t i = 0; i < count; ++i) {
        if (Status s = read_string(source, pair.key.c_str(), text); !s.ok()) return s;
        pair.strings.append(text.data(), text.size());
    }
    return {};
}

Status read_value(Source & source, Pair & pair) {
    uint64_t count = 1;
    int32_t type;
    if (!source.read_value(type)) return cut_short(source, pair.key.c_str());
    if (type == GGUF_TYPE_ARRAY) {
        pair.is_array = true;
        if (!source.read_value(type) || !source.read_value(count)) return cut_short(source, pair.key.c_str());
        if (type == GGUF_TYPE_ARRAY) {
            return failure("gguf.nested_array", "key '%s' is an array of arrays, which GGUF does not have",
                           pair.key.c_str());
        }
    }
    if (type < 0 || type >= GGUF_TYPE_COUNT) {
        return failure("gguf.value_type", "key '%s' has value type %" PRId32 ", which does not exist",
                       pair.key.c_str(), type);
    }
    pair.type = gguf_type(type);
    const uint64_t smallest = pair.type == GGUF_TYPE_STRING ? 8 : value_bytes(pair.type);
    if (count > source.remaining() / smallest) {
        return failure("gguf.array_length",
                       "key '%s' holds %" PRIu64 " values, but %" PRIu64 " bytes are left", pair.key.c_str(),
                       count, source.remaining());
    }
    if (pair.type == GGUF_TYPE_STRING) return read_strings(source, count, pair);
    if (!source.append(pair.bytes, count * smallest)) return cut_short(source, pair.key.c_str());
    if (pair.type == GGUF_TYPE_BOOL) {
        for (uint8_t & b : pair.bytes) b = b != 0; // any other byte would be undefined as a C bool
    }
    return {};
}

} // namespace

size_t value_bytes(gguf_type type) {
    switch (type) {
    case GGUF_TYPE_UINT8:
    case GGUF_TYPE_INT8:
    case GGUF_TYPE_BOOL: return 1;
    case GGUF_TYPE_UINT16:
    case GGUF_TYPE_INT16: return 2;
    case GGUF_TYPE_UINT32:
    case GGUF_TYPE_INT32:
    case GGUF_TYPE_FLOAT32: return 4;
    case GGUF_TYPE_UINT64:
    case GGUF_TYPE_INT64:
    case GGUF_TYPE_FLOAT64: return 8;
    case GGUF_TYPE_STRING:
    case GGUF_TYPE_ARRAY:
    case GGUF_TYPE_COUNT: return 0;
    }
    return 0;
}

Status read_pairs(Source & source, int64_t count, gguf_context & out) {
    for (int64_t i = 0; i < count; ++i) {
        Pair pair;
        if (Status s = read_string(source, "a key", pair.key); !s.ok()) return s;
        if (pair.key.empty() || pair.key.find('\0') != std::string::npos) {
            return failure("gguf.key", "key %" PRId64 " is empty or contains a zero byte", i);
        }
        if (Status s = read_value(source, pair); !s.ok()) return s;
        out.pairs.push_back(std::move(pair));
    }
    std::vector<const std::string *> keys;
    for (const Pair & pair : out.pairs) keys.push_back(&pair.key);
    std::sort(keys.begin(), keys.end(), [](const auto * a, const auto * b) { return *a < *b; });
    for (size_t i = 1; i < keys.size(); ++i) {
        if (*keys[i] == *keys[i - 1])
            return failure("gguf.duplicate_key", "key '%s' occurs twice", keys[i]->c_str());
    }
    return {};
}

} // namespace ggml::gguf
