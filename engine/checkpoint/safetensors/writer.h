// Writes safetensors files of any size in constant memory: first everything about the tensors, then their
// bytes, in pieces. The file is there when finish() has returned, and not before.
#pragma once

#include "base/output_file.h"
#include "checkpoint/tensor_info.h"

#include <map>
#include <string>
#include <vector>

namespace sd {

struct TensorDeclaration {
    std::string name;
    StoredType type;
    std::vector<int64_t> shape; // PyTorch order
};

// The beginning of a file: length and header, a multiple of 8 bytes. `data_bytes` is what must follow. Throws
// Error without a file name for names that are given twice or are no legal names, and for types the container
// does not have (ggml's blocks). The header lists metadata first, sorted, then tensors as declared; so do the
// data, without gaps, as other readers demand.
std::string safetensors_start(const std::vector<TensorDeclaration> & tensors,
                              const std::map<std::string, std::string> & metadata, uint64_t & data_bytes);

// One thread at a time; an Error names the file and ends the writing.
class SafetensorsWriter {
  public:
    // Whoever wants every tensor aligned declares larger element types first.
    SafetensorsWriter(const std::string & path, const std::vector<TensorDeclaration> & tensors,
                      const std::map<std::string, std::string> & metadata = {});

    // The next bytes of the data, wherever tensors begin and end.
    void write(const void * data, size_t bytes);

    // All declared bytes must have been written.
    void finish();

    uint64_t data_bytes() const { return data_bytes_; } // that are to be written in all

  private:
    OutputFile out_;
    std::string path_;
    uint64_t data_bytes_ = 0;
    uint64_t written_ = 0;
};

} // namespace sd
