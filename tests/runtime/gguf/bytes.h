// Builds GGUF files byte by byte, right or wrong, independently of the writer under test.
#pragma once

#include "gguf.h"
#include "tests/support/log_capture.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ggml::test {

class Bytes {
  public:
    template <class T>
    Bytes & value(T v) {
        const auto * p = reinterpret_cast<const uint8_t *>(&v);
        data.insert(data.end(), p, p + sizeof v);
        return *this;
    }
    Bytes & raw(const std::string & s) {
        data.insert(data.end(), s.begin(), s.end());
        return *this;
    }
    Bytes & text(const std::string & s) { return value(uint64_t(s.size())).raw(s); }
    Bytes & header(int64_t n_tensors, int64_t n_pairs, uint32_t version = 3) {
        return raw("GGUF").value(version).value(n_tensors).value(n_pairs);
    }
    Bytes & pair_u32(const std::string & key, uint32_t v) {
        return text(key).value(int32_t(GGUF_TYPE_UINT32)).value(v);
    }
    Bytes & tensor(const std::string & name, std::vector<int64_t> ne, int32_t type, uint64_t offset) {
        text(name).value(uint32_t(ne.size()));
        for (int64_t n : ne) value(n);
        return value(type).value(offset);
    }
    Bytes & pad(size_t unit = 32) {
        while (data.size() % unit != 0) data.push_back(0);
        return *this;
    }
    Bytes & zeros(size_t n) {
        data.insert(data.end(), n, 0);
        return *this;
    }

    gguf_context * open(gguf_init_params params = {true, nullptr}) const {
        return gguf_init_from_buffer(data.data(), data.size(), params);
    }

    std::vector<uint8_t> data;
};

} // namespace ggml::test
