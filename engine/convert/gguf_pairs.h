// The key/value pairs of a GGUF file that is written: copied byte for byte from other files, or made here.
#pragma once

#include "base/file.h"
#include "checkpoint/container.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

// ComfyUI's converters keep the shape of tensors they had to reshape under this key and the tensor's name.
constexpr std::string_view kOriginalShapeKey = "comfy.gguf.orig_shape.";

class GgufPairs {
  public:
    // Each adds a pair unless the key is there already; false then.
    bool add_text(const std::string & key, const std::string & text);
    bool add_u32(const std::string & key, uint32_t value);
    bool add_integers(const std::string & key, const std::vector<int64_t> & values); // I32 where all fit

    // The file's pairs, without original shapes and the keys in `without`. How many were there already.
    size_t copy(const File & file, const gguf_context * pairs, const std::set<std::string> & without);

    bool has(const std::string & key) const { return keys_.contains(key); }
    uint64_t alignment() const { return alignment_; } // of the data, as the pairs say

    // Number of pairs, and the pairs as files have them, appended to `out`.
    size_t count() const { return keys_.size(); }
    void append_to(std::string & out) const { out += bytes_; }

  private:
    bool add(const std::string & key, std::string_view type_and_value);

    std::set<std::string> keys_;
    std::string bytes_;
    uint64_t alignment_ = 32;
};

// A number as files have it.
template <class T>
void append_number(std::string & out, T value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void append_text(std::string & out, std::string_view text);

} // namespace sd
