#include "checkpoint/safetensors/writer.h"

#include "base/error.h"
#include "checkpoint/limits.h"
#include "checkpoint/safetensors/dtype.h"
#include "checkpoint/safetensors/header.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace sd {
namespace {

[[noreturn]] void fail(const std::string & tensor, std::string cause, std::string advice = {}) {
    throw Error({"E_CONTAINER", {}, tensor, std::move(cause), std::move(advice)});
}

std::string json_string(const std::string & text) {
    try {
        return nlohmann::json(text).dump();
    } catch (const nlohmann::json::exception &) {
        fail({}, in_quotes(text) + " is not UTF-8");
    }
}

std::string json_list(const std::vector<int64_t> & values) {
    std::string text = "[";
    for (const int64_t value : values) {
        if (text.size() > 1) text += ',';
        text += std::to_string(value);
    }
    return text += ']';
}

void check_unique(const std::vector<TensorDeclaration> & tensors) {
    std::vector<std::string_view> names;
    for (const TensorDeclaration & t : tensors) names.push_back(t.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) fail(std::string(*twice), "is to be written twice");
}

std::string entry_of(const TensorDeclaration & t, uint64_t & end) {
    check_tensor_name(t.name);
    const char * dtype = safetensors_dtype_name(t.type);
    if (dtype == nullptr) {
        fail(t.name, std::string("safetensors has no type ") + type_name(t.type), "write a GGUF file");
    }
    if (t.shape.size() > size_t(kMaxRank)) {
        fail(t.name, "has more than " + std::to_string(kMaxRank) + " dimensions");
    }
    const std::optional<uint64_t> bytes = tensor_bytes(t.type, t.shape);
    if (!bytes || *bytes > uint64_t(INT64_MAX) - end) {
        fail(t.name, std::string(dtype) + " " + shape_text(t.shape) + " is larger than any file");
    }
    const uint64_t begin = end;
    end += *bytes;
    std::string entry = json_string(t.name);
    entry += R"(:{"dtype":")";
    entry += dtype;
    entry += R"(","shape":)" + json_list(t.shape);
    entry += R"(,"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
    return entry;
}

} // namespace

std::string safetensors_start(const std::vector<TensorDeclaration> & tensors,
                              const std::map<std::string, std::string> & metadata, uint64_t & data_bytes) {
    check_unique(tensors);
    data_bytes = 0;
    std::string json = "{";
    if (!metadata.empty()) {
        json += R"("__metadata__":{)";
        for (const auto & [key, value] : metadata) {
            if (json.back() != '{') json += ',';
            json += json_string(key) += ":";
            json += json_string(value);
        }
        json += '}';
    }
    for (const TensorDeclaration & t : tensors) {
        if (json.size() > 1) json += ',';
        json += entry_of(t, data_bytes);
    }
    json += '}';
    json.append((8 - json.size() % 8) % 8, ' ');
    if (json.size() > kMostHeaderBytes) fail({}, "its header would be larger than readers accept");
    std::string start;
    for (int i = 0; i < 8; ++i) start += char(uint64_t(json.size()) >> (8 * i));
    return start += json;
}

SafetensorsWriter::SafetensorsWriter(const std::string & path, const std::vector<TensorDeclaration> & tensors,
                                     const std::map<std::string, std::string> & metadata)
    : out_(path), path_(path) {
    try {
        const std::string start = safetensors_start(tensors, metadata, data_bytes_);
        out_.reserve(start.size() + data_bytes_);
        out_.write(start.data(), start.size());
    } catch (const Error & error) {
        throw error.in_file(path);
    }
}

void SafetensorsWriter::write(const void * data, size_t bytes) {
    if (bytes > data_bytes_ - written_) {
        throw Error({"E_CONTAINER", path_, {}, "more bytes than its tensors have were to be written", {}});
    }
    out_.write(data, bytes);
    written_ += bytes;
}

void SafetensorsWriter::finish() {
    if (written_ != data_bytes_) {
        throw Error({"E_CONTAINER",
                     path_,
                     {},
                     "only " + std::to_string(written_) + " of its " + std::to_string(data_bytes_) +
                         " bytes of data were written",
                     {}});
    }
    out_.finish();
}

} // namespace sd
