// A model as it lies on disk: one or several files, opened, with the tensors of all under one table. Reads no
// tensor data by itself.
#pragma once

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/container.h"
#include "checkpoint/prefixes.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sd {

struct OpenedFile {
    File file;
    Container container; // its tensor list is empty: Checkpoint::tensors has them
    Component component;
    std::string index; // the file that calls it a shard; empty: it is none
};

class Checkpoint {
  public:
    // Adds a file, or the index of a model in shards (*.index.json) with all of them, which must lie in its
    // folder or below. A tensor name that exists already, after the prefix was put on, is an Error naming
    // both files. After an Error everything is as before. Pointers to tensors end here.
    void add(const std::string & path, Component component = Component::model);

    const std::vector<OpenedFile> & files() const { return files_; }

    // Sorted by name. Names have the component's prefix: "model.diffusion_model." (diffusion),
    // "text_encoders.llm." (llm), "vae." (vae); Component::model keeps names as they are, except that known
    // other prefixes of the same parts are brought to these.
    const std::vector<TensorInfo> & tensors() const { return tensors_; }

    const TensorInfo * find(std::string_view name) const;
    // The same, an Error for a missing one.
    const TensorInfo & get(std::string_view name) const;

    const File & file_of(const TensorInfo & tensor) const { return files_[size_t(tensor.file)].file; }
    // The name the tensor has in its file, for messages.
    const std::string & stored_name(const TensorInfo & tensor) const;

    // An Error about a tensor, with its file.
    Error error(const TensorInfo & tensor, std::string code, std::string cause,
                std::string advice = {}) const;

  private:
    [[noreturn]] void refuse_twice(const TensorInfo & first, const TensorInfo & second) const;

    std::vector<OpenedFile> files_;
    std::vector<TensorInfo> tensors_;
    // By file and name in the table, where the two names differ.
    std::map<std::pair<int, std::string>, std::string> stored_names_;
};

// A model as files: one that holds everything, or its parts. Empty: not given.
struct ModelPaths {
    std::string model, diffusion_model, llm, vae;
};

// All that are given; none is an Error.
Checkpoint open_model(const ModelPaths & paths);

} // namespace sd
