// A range of a file, read front to back a little at a time. Asking for more than the range has is an Error.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sd::pytorch {

class Stream {
  public:
    Stream(const File & file, uint64_t begin, uint64_t end) : file_(file), position_(begin), end_(end) {}

    uint64_t position() const { return position_; } // in the file
    uint64_t remaining() const { return end_ - position_; }

    void read(void * out, size_t bytes);
    void skip(uint64_t bytes);

    // A little-endian number.
    template <class T>
    T value() {
        T v;
        read(&v, sizeof v);
        return v;
    }

    // The next bytes, which the caller has found to be few.
    std::string text(size_t bytes);

    // Up to a line feed, which is taken but not returned. Longer lines are an Error.
    std::string line(size_t most);

  private:
    void need(uint64_t bytes) const;

    File file_;
    uint64_t position_, end_;
    std::vector<char> buffer_; // of the file, from buffer_start_ on
    uint64_t buffer_start_ = 0;
};

} // namespace sd::pytorch
