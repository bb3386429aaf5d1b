// For tests: safetensors files of any header, right or wrong, and the one line a refusal gives.
#pragma once

#include "base/error.h"
#include "base/file.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sd::test {

// `length` in place of the header's own; data are zeros.
inline std::vector<std::byte> safetensors_bytes(const std::string & header, size_t data,
                                                std::optional<uint64_t> length = std::nullopt) {
    std::vector<std::byte> bytes;
    const uint64_t says = length.value_or(header.size());
    for (int i = 0; i < 8; ++i) bytes.push_back(std::byte(says >> (8 * i)));
    for (const char c : header) bytes.push_back(std::byte(c));
    bytes.resize(bytes.size() + data);
    return bytes;
}

inline File safetensors_file(const std::string & header, size_t data,
                             std::optional<uint64_t> length = std::nullopt) {
    return File::of_bytes("m.safetensors", safetensors_bytes(header, data, length));
}

// "" when nothing was thrown.
inline std::string refusal_of(const std::function<void()> & run) {
    try {
        run();
    } catch (const Error & error) {
        return error.what();
    }
    return {};
}

} // namespace sd::test
