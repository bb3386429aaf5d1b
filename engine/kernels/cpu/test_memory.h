// Memory for tests of kernels that address it themselves.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sd::test {

// Bytes that end where readable memory ends.
class AtTheEnd {
  public:
    explicit AtTheEnd(size_t n) {
        const size_t page = size_t(sysconf(_SC_PAGESIZE));
        size_ = (n + page - 1) / page * page + page;
        base_ = static_cast<char *>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_EQ(mprotect(base_ + size_ - page, page, PROT_NONE), 0);
        data_ = reinterpret_cast<int8_t *>(base_ + size_ - page - n);
    }
    ~AtTheEnd() { munmap(base_, size_); }
    AtTheEnd(const AtTheEnd &) = delete;
    AtTheEnd & operator=(const AtTheEnd &) = delete;
    int8_t * data() const { return data_; }

  private:
    char * base_;
    size_t size_;
    int8_t * data_;
};

// On a 64-byte boundary, full of bytes that are no zeros.
template <class T>
struct Aligned {
    explicit Aligned(size_t n) : storage(n * sizeof(T) + 64, char(0xa5)) {
        void * p = storage.data();
        size_t space = storage.size();
        data = static_cast<T *>(std::align(64, n * sizeof(T), p, space));
    }
    std::vector<char> storage;
    T * data;
};

} // namespace sd::test
