#include "runtime/gguf/source.h"

#include <algorithm>
#include <cstring>

namespace ggml::gguf {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

} // namespace

Source::Source(gguf_reader_callback_t callback, void * userdata, size_t max_chunk, uint64_t size)
    : callback_(callback), userdata_(userdata), max_chunk_(max_chunk == 0 ? SIZE_MAX : max_chunk),
      size_(size) {}

// Calls back until n bytes are there or the source ends early; `got` says how many came.
bool Source::fetch(void * out, size_t n, uint64_t offset, size_t & got) {
    got = 0;
    while (got < n) {
        const size_t chunk = std::min(max_chunk_, n - got);
        const size_t came = callback_(userdata_, static_cast<char *>(out) + got, offset + got, chunk);
        if (came > chunk) return false; // a callback that claims more than was asked for is broken
        got += came;
        if (came < chunk) break;
    }
    return got == n;
}

bool Source::read(void * out, size_t n) {
    if (n > remaining()) return false;
    auto * to = static_cast<char *>(out);
    while (n > 0) {
        const bool buffered = position_ >= buffer_start_ && position_ - buffer_start_ < buffer_.size();
        if (buffered) {
            const size_t skip = size_t(position_ - buffer_start_), count = std::min(n, buffer_.size() - skip);
            std::memcpy(to, buffer_.data() + skip, count);
            to += count, n -= count, position_ += count;
            continue;
        }
        size_t got = 0;
        if (n >= kBufferBytes) {
            if (!fetch(to, n, position_, got)) return false;
            position_ += n;
            return true;
        }
        buffer_start_ = position_;
        buffer_.resize(size_t(std::min<uint64_t>(kBufferBytes, remaining())));
        fetch(buffer_.data(), buffer_.size(), position_,
              got); // a short source is noticed when its bytes are needed
        buffer_.resize(got);
        if (got == 0) return false;
    }
    return true;
}

bool Source::seek(uint64_t position) {
    if (position > size_) return false;
    position_ = position;
    return true;
}

} // namespace ggml::gguf
