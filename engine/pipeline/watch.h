// Tensors of a run that somebody wants to see: dumps for comparing engines. Thrown away unless asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sd {

// Before the names of a picture's own tensors: nothing for the first of a batch, so that a picture that is
// made alone has the same names whatever the batch count; "picture2." for the third.
inline std::string picture_prefix(int picture) {
    return picture == 0 ? "" : "picture" + std::to_string(picture) + ".";
}

class Watch {
  public:
    struct Tensor {
        std::vector<int64_t> shape; // outermost first
        std::vector<float> floats;  // one of the two
        std::vector<int32_t> ints;
    };

    explicit Watch(bool on) : on_(on) {}
    bool on() const { return on_; }

    void floats(const std::string & name, std::vector<int64_t> shape, std::vector<float> values) {
        if (on_) tensors_[name] = {std::move(shape), std::move(values), {}};
    }
    void ints(const std::string & name, std::vector<int32_t> values) {
        if (on_) tensors_[name] = {{int64_t(values.size())}, {}, values};
    }

    const std::map<std::string, Tensor> & tensors() const { return tensors_; }

    // As safetensors, by way of a temporary file. Throws Error.
    void write(const std::string & path) const;

  private:
    bool on_;
    std::map<std::string, Tensor> tensors_;
};

} // namespace sd
