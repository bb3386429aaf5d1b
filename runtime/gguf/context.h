// What a GGUF container holds in memory: pairs and tensor records, never tensor data. Values read from a file
// take about the bytes they took there.
#pragma once

#include "ggml.h"
#include "gguf.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ggml::gguf {

// Bytes of one value of a fixed-size type; 0 for strings, arrays and ids that are no type.
size_t value_bytes(gguf_type type);

// Strings one after the other, each with a terminating zero, so that 150,000 tokens are two allocations.
class StringList {
  public:
    void append(const char * data, size_t size) {
        starts_.push_back(text_.size());
        text_.insert(text_.end(), data, data + size);
        text_.push_back('\0');
    }
    size_t size() const { return starts_.size(); }
    const char * at(size_t i) const { return text_.data() + starts_[i]; }
    size_t length(size_t i) const {
        return (i + 1 < starts_.size() ? starts_[i + 1] : text_.size()) - starts_[i] - 1;
    }

  private:
    std::vector<char> text_;
    std::vector<uint64_t> starts_;
};

struct Pair {
    std::string key;
    gguf_type type = GGUF_TYPE_COUNT; // of the value, or of the elements of an array
    bool is_array = false;
    std::vector<uint8_t> bytes; // fixed-size values back to back
    StringList strings;         // string values

    size_t count() const {
        return type == GGUF_TYPE_STRING ? strings.size() : bytes.size() / value_bytes(type);
    }
};

struct TensorRecord {
    std::string name;
    ggml_type type = GGML_TYPE_F32;
    uint32_t n_dims = 1;
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
    uint64_t offset = 0; // in the data section
    size_t bytes = 0;
    const ggml_tensor * tensor =
        nullptr;                 // source of the data when written; null for records read from a file
    const void * data = nullptr; // replaces the tensor's data when set
};

} // namespace ggml::gguf

struct gguf_context {
    uint32_t version = GGUF_VERSION;
    std::vector<ggml::gguf::Pair> pairs;
    std::vector<ggml::gguf::TensorRecord> tensors;
    size_t alignment = GGUF_DEFAULT_ALIGNMENT;
    size_t data_offset = 0; // from the start of the container
    size_t data_bytes = 0;  // end of the last tensor in the data section
};
