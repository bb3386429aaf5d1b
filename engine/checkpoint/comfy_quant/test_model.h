// For tests: small checkpoints with quantized modules, right or wrong, and what finding them says.
#pragma once

#include "checkpoint/comfy_quant/quant_module.h"
#include "checkpoint/test_folder.h"

#include <bit>
#include <cstring>

namespace sd::test {

template <class T>
std::string bytes_of(const std::vector<T> & values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

class TestModel {
  public:
    TestModel & add(const std::string & name, const std::string & dtype, const std::vector<int64_t> & shape,
                    const std::string & bytes) {
        entries_ += (entries_.empty() ? "\"" : ",\"") + name + "\":{\"dtype\":\"" + dtype +
                    "\",\"shape\":" + shape_text(shape) + ",\"data_offsets\":[" +
                    std::to_string(data_.size()) + "," + std::to_string(data_.size() + bytes.size()) + "]}";
        data_ += bytes;
        return *this;
    }
    // Of zeros.
    TestModel & add(const std::string & name, const std::string & dtype, const std::vector<int64_t> & shape) {
        const int64_t unit = dtype == "F64"                     ? 8
                             : dtype == "F32" || dtype == "I32" ? 4
                             : dtype.ends_with("16")            ? 2
                                                                : 1;
        int64_t bytes = unit;
        for (const int64_t d : shape) bytes *= d;
        return add(name, dtype, shape, std::string(size_t(bytes), '\0'));
    }
    TestModel & floats(const std::string & name, const std::vector<int64_t> & shape,
                       const std::vector<float> & values) {
        return add(name, "F32", shape, bytes_of(values));
    }
    TestModel & marker(const std::string & module, const std::string & json) {
        return add(module + ".comfy_quant", "U8", {int64_t(json.size())}, json);
    }
    TestModel & header(const std::string & json) {
        for (const char c : json) metadata_ += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        return *this;
    }

    std::string bytes() const {
        std::string json = "{";
        if (!metadata_.empty()) json += "\"__metadata__\":{\"_quantization_metadata\":\"" + metadata_ + "\"}";
        if (!metadata_.empty() && !entries_.empty()) json += ",";
        json += entries_ + "}";
        json.resize((json.size() + 7) / 8 * 8, ' ');
        return bytes_of<uint64_t>({json.size()}) + json + data_;
    }

  private:
    std::string entries_, metadata_, data_;
};

// An int8_tensorwise layer "l" of the group's size in both directions, one code 127 in each row.
inline TestModel int8_layer(int n, int k, const std::string & settings) {
    std::vector<int8_t> codes(size_t(n * k));
    for (int i = 0; i < n; ++i) codes[size_t(i * k)] = 127;
    TestModel model;
    model.add("l.weight", "I8", {n, k}, bytes_of(codes));
    model.floats("l.weight_scale", {n, 1}, std::vector<float>(size_t(n), 1.0f / 127));
    if (!settings.empty()) model.marker("l", settings);
    return model;
}

class QuantTest : public TestFolder {
  protected:
    Checkpoint load(const TestModel & model, Component component = Component::model) const {
        Checkpoint checkpoint;
        checkpoint.add(put("model.safetensors", model.bytes()), component);
        return checkpoint;
    }

    // "CODE FILE: tensor NAME: cause (advice)"; "" when it is accepted.
    std::string refusal(const std::function<void()> & run) const {
        try {
            run();
        } catch (const Error & error) {
            std::string line = error.parts().code + " " + error.what();
            const std::string file = path("model.safetensors");
            if (const size_t at = line.find(file); at != line.npos) line.replace(at, file.size(), "FILE");
            return line;
        }
        return {};
    }
    std::string refusal(const TestModel & model, const QuantOptions & options = {}) const {
        return refusal([&] {
            const Checkpoint checkpoint = load(model);
            find_quant_modules(checkpoint, options);
        });
    }
};

} // namespace sd::test
