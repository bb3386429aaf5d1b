// Bounded reading from a file, memory or a callback. Nothing is ever asked for beyond the size the source is
// known to have, and growing reads allocate as bytes arrive, so a false length costs nothing.
#pragma once

#include "gguf.h"

#include <cstdint>
#include <vector>

namespace ggml::gguf {

class Source {
  public:
    // max_chunk: most bytes per call, 0 for no limit. size: bytes from offset 0 to the end.
    Source(gguf_reader_callback_t callback, void * userdata, size_t max_chunk, uint64_t size);

    uint64_t position() const { return position_; }
    uint64_t remaining() const { return size_ - position_; }

    // Exactly n bytes, or false (position is then undefined).
    [[nodiscard]] bool read(void * out, size_t n);

    template <class T>
    [[nodiscard]] bool read_value(T & out) {
        return read(&out, sizeof(T));
    }

    // n more bytes at the end of `out`.
    template <class Byte>
    [[nodiscard]] bool append(std::vector<Byte> & out, uint64_t n) {
        constexpr uint64_t kStep = 1u << 20;
        if (n > remaining()) return false;
        while (n > 0) {
            const size_t step = size_t(n < kStep ? n : kStep), old = out.size();
            out.resize(old + step);
            if (!read(out.data() + old, step)) return false;
            n -= step;
        }
        return true;
    }

    // Moves to a place at or before the end.
    [[nodiscard]] bool seek(uint64_t position);

  private:
    bool fetch(void * out, size_t n, uint64_t offset, size_t & got);

    gguf_reader_callback_t callback_;
    void * userdata_;
    size_t max_chunk_;
    uint64_t size_;
    uint64_t position_ = 0;
    // Metadata is read a few bytes at a time; this turns it into large calls.
    std::vector<uint8_t> buffer_;
    uint64_t buffer_start_ = 0;
};

} // namespace ggml::gguf
