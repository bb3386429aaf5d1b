// For tests: checkpoints of tensors without values, by the list of what a model expects.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors/writer.h"
#include "models/common/model_table.h"

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace sd::test {

// A safetensors file of zeros with these names and shapes; gone afterwards.
class TensorFile {
  public:
    explicit TensorFile(const std::vector<ExpectedTensor> & tensors, StoredType type = StoredType::bf16) {
        static int count = 0;
        path_ = (std::filesystem::temp_directory_path() /
                 ("tensors-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".safetensors"))
                    .string();
        std::vector<TensorDeclaration> declarations;
        for (const ExpectedTensor & t : tensors) declarations.push_back({t.name, type, t.shape});
        SafetensorsWriter writer(path_, declarations);
        const std::vector<char> zeros(4096);
        for (uint64_t left = writer.data_bytes(); left > 0;) {
            const uint64_t part = std::min<uint64_t>(left, zeros.size());
            writer.write(zeros.data(), part);
            left -= part;
        }
        writer.finish();
    }
    ~TensorFile() { std::filesystem::remove(path_); }
    TensorFile(const TensorFile &) = delete;
    TensorFile & operator=(const TensorFile &) = delete;

    const std::string & path() const { return path_; }
    Checkpoint open(Component component = Component::model) const {
        Checkpoint checkpoint;
        checkpoint.add(path_, component);
        return checkpoint;
    }

  private:
    std::string path_;
};

} // namespace sd::test
