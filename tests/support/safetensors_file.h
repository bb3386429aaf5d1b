// Reads the test vectors that lie in safetensors files: a small header of names, types, shapes and places,
// then the bytes. For files of this project's own tools; everything unexpected is a std::runtime_error.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace ggml::test {

struct StoredTensor {
    std::string dtype; // "F32", "I8" and so on
    std::vector<int64_t> shape;
    std::vector<uint8_t> bytes;

    template <class T>
    std::vector<T> values() const {
        std::vector<T> v(bytes.size() / sizeof(T));
        if (!v.empty()) std::memcpy(v.data(), bytes.data(), v.size() * sizeof(T));
        return v;
    }
};

std::map<std::string, StoredTensor> read_safetensors(const std::string & path);

} // namespace ggml::test
