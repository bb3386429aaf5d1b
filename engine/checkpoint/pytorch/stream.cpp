#include "checkpoint/pytorch/stream.h"

#include "base/error.h"

#include <algorithm>
#include <cstring>

namespace sd::pytorch {

void Stream::need(uint64_t bytes) const {
    if (bytes <= remaining()) return;
    throw Error({"E_PICKLE",
                 {},
                 {},
                 "the pickle goes on beyond its end at byte " + std::to_string(end_),
                 "the file is incomplete: fetch it again"});
}

void Stream::read(void * out, size_t bytes) {
    need(bytes);
    constexpr uint64_t kBuffer = 64 * 1024;
    auto * to = static_cast<char *>(out);
    while (bytes > 0) {
        if (position_ < buffer_start_ || position_ - buffer_start_ >= buffer_.size()) {
            buffer_.resize(size_t(std::min(kBuffer, remaining())));
            file_.read(position_, buffer_.data(), buffer_.size());
            buffer_start_ = position_;
        }
        const size_t at = size_t(position_ - buffer_start_), n = std::min(bytes, buffer_.size() - at);
        std::memcpy(to, buffer_.data() + at, n);
        to += n, bytes -= n, position_ += n;
    }
}

void Stream::skip(uint64_t bytes) {
    need(bytes);
    position_ += bytes;
}

std::string Stream::text(size_t bytes) {
    need(bytes);
    std::string out(bytes, '\0');
    read(out.data(), bytes);
    return out;
}

std::string Stream::line(size_t most) {
    std::string out;
    for (char c; (c = value<char>()) != '\n'; out += c) {
        if (out.size() < most) continue;
        throw Error({"E_PICKLE",
                     {},
                     {},
                     "a line of the pickle at byte " + std::to_string(position_) + " is longer than " +
                         std::to_string(most) + " bytes",
                     {}});
    }
    return out;
}

} // namespace sd::pytorch
