// Reading a file's table of contents, whatever container it is: safetensors, GGUF, PyTorch. Only headers are
// read. Every number is checked before it is used; memory stays within a small multiple of the header, which
// is a part of the file. Whatever is wrong is an Error with file, tensor and cause.
#pragma once

#include "base/file.h"
#include "checkpoint/tensor_info.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

struct gguf_context;

namespace sd {

enum class ContainerKind { safetensors, gguf, pytorch };

const char * container_name(ContainerKind kind); // "safetensors", "GGUF", "PyTorch"

struct Container {
    ContainerKind kind;
    std::vector<TensorInfo> tensors; // in the order of the file; `file` is 0; names are unique
    // safetensors: __metadata__. Others: empty.
    std::map<std::string, std::string> metadata;
    // GGUF: its pairs (tokenizer, hyper-parameters). Others: NULL.
    std::shared_ptr<const gguf_context> pairs;
    // Oddities that do no harm, each a sentence.
    std::vector<std::string> warnings;
};

// By the first bytes, never by the name's ending.
ContainerKind container_kind(const File & file);

Container read_container(const File & file);

// The readers behind it.
Container read_safetensors(const File & file);
Container read_gguf(const File & file);
Container read_pytorch(const File & file); // zip archives and plain pickles of torch.save

} // namespace sd
