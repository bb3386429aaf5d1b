// Merging of byte pairs. Knows ids and ranks, not texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sd {

// The printable form of bytes: those that print stand for themselves, the others follow from U+0100 on.
const std::vector<std::string> & byte_symbols(); // 256, by byte

class Bpe {
  public:
    // tokens: by id, "" where unused. Throws Error (with a cause only) when a byte has no token. The first
    // token of a text counts.
    explicit Bpe(const std::vector<std::string> & tokens);

    // merges: "left right" by rank, once. Throws Error (with a cause only) when one names parts that are
    // none.
    void set_merges(const std::vector<std::string> & merges);

    // Appends the ids of a piece of text. Takes n log n steps for n bytes.
    void encode(std::string_view piece, std::vector<int32_t> & out) const;

    int32_t find(std::string_view token) const; // -1: none

  private:
    struct Merge {
        int32_t rank, result;
    };
    const Merge * merge_of(int32_t left, int32_t right) const;

    std::unordered_map<std::string, int32_t> ids_;
    std::unordered_map<uint64_t, Merge> merges_;
    std::vector<int32_t> bytes_; // 256
};

} // namespace sd
