#include "convert/gguf_pairs.h"

#include "base/error.h"
#include "checkpoint/pytorch/stream.h"
#include "gguf.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sd {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr uint64_t kFirstPair = 24; // bytes from the start of a file

// Larger ones, which nobody needs, would be paid for with padding after every tensor.
constexpr size_t kMostAlignment = 65536;

// Walks over pairs whose structure the reader has checked. The file may have changed since: lengths are
// checked again.
class RawPairs {
  public:
    RawPairs(const File & file, const gguf_context * pairs)
        : file_(file), in_(file, kFirstPair, gguf_get_data_offset(pairs)) {}

    std::string key() { return in_.text(bytes(in_.value<uint64_t>(), 1)); }

    std::string type_and_value() {
        std::string out;
        int32_t type = take<int32_t>(out);
        uint64_t count = 1;
        if (type == GGUF_TYPE_ARRAY) {
            type = take<int32_t>(out);
            count = take<uint64_t>(out);
        }
        if (type != GGUF_TYPE_STRING) {
            out += in_.text(bytes(count, value_bytes(type)));
            return out;
        }
        for (uint64_t i = 0; i < count; ++i) out += in_.text(bytes(take<uint64_t>(out), 1));
        return out;
    }

  private:
    template <class T>
    T take(std::string & out) {
        const T value = in_.value<T>();
        append_number(out, value);
        return value;
    }

    size_t bytes(uint64_t count, uint64_t each) const {
        if (count > in_.remaining() / each) changed();
        return size_t(count * each);
    }

    uint64_t value_bytes(int32_t type) const {
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
        default: changed();
        }
    }

    [[noreturn]] void changed() const {
        throw Error({"E_CONTAINER", file_.path(), {}, "was changed while it was read", "convert it again"});
    }

    const File & file_;
    pytorch::Stream in_;
};

} // namespace

void append_text(std::string & out, std::string_view text) {
    append_number(out, uint64_t(text.size()));
    out += text;
}

bool GgufPairs::add(const std::string & key, std::string_view type_and_value) {
    if (!keys_.insert(key).second) return false;
    append_text(bytes_, key);
    bytes_ += type_and_value;
    return true;
}

bool GgufPairs::add_text(const std::string & key, const std::string & text) {
    std::string value;
    append_number(value, int32_t(GGUF_TYPE_STRING));
    append_text(value, text);
    return add(key, value);
}

bool GgufPairs::add_u32(const std::string & key, uint32_t number) {
    std::string value;
    append_number(value, int32_t(GGUF_TYPE_UINT32));
    append_number(value, number);
    return add(key, value);
}

bool GgufPairs::add_integers(const std::string & key, const std::vector<int64_t> & numbers) {
    const bool narrow = std::all_of(numbers.begin(), numbers.end(), std::in_range<int32_t, int64_t>);
    std::string value;
    append_number(value, int32_t(GGUF_TYPE_ARRAY));
    append_number(value, int32_t(narrow ? GGUF_TYPE_INT32 : GGUF_TYPE_INT64));
    append_number(value, uint64_t(numbers.size()));
    for (const int64_t n : numbers) narrow ? append_number(value, int32_t(n)) : append_number(value, n);
    return add(key, value);
}

size_t GgufPairs::copy(const File & file, const gguf_context * pairs, const std::set<std::string> & without) {
    size_t known = 0;
    RawPairs raw(file, pairs);
    for (int64_t i = 0; i < gguf_get_n_kv(pairs); ++i) {
        const std::string key = raw.key(), value = raw.type_and_value();
        if (key.starts_with(kOriginalShapeKey) || without.contains(key)) continue;
        const bool alignment = key == GGUF_KEY_GENERAL_ALIGNMENT;
        if (alignment && gguf_get_alignment(pairs) > kMostAlignment) continue;
        if (!add(key, value)) {
            ++known;
        } else if (alignment) {
            alignment_ = gguf_get_alignment(pairs);
        }
    }
    return known;
}

} // namespace sd
