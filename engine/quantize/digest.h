// A number for a sequence of values, to notice that they changed; no protection against those who mean harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sd {

// FNV-1a of 64 bits.
class Digest {
  public:
    void bytes(const void * data, size_t count) {
        constexpr uint64_t kPrime = 0x100000001b3;
        const auto * from = static_cast<const unsigned char *>(data);
        for (size_t i = 0; i < count; ++i) state_ = (state_ ^ from[i]) * kPrime;
    }
    void number(uint64_t value) { bytes(&value, sizeof value); }
    // With its length, so that neighbours cannot trade characters.
    void text(std::string_view value) {
        number(value.size());
        bytes(value.data(), value.size());
    }
    uint64_t value() const { return state_; }

  private:
    uint64_t state_ = 0xcbf29ce484222325;
};

} // namespace sd
