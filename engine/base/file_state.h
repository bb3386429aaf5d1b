// What an open file is made of; for file.cpp and mapped_file.cpp.
#pragma once

#include "base/file.h"

namespace sd {

struct FileState {
    int fd = -1; // -1: the bytes below
    std::string path;
    uint64_t size = 0;
    std::vector<std::byte> bytes;

    FileState() = default;
    FileState(const FileState &) = delete;
    FileState & operator=(const FileState &) = delete;
    ~FileState();
};

} // namespace sd
