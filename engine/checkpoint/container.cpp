#include "checkpoint/container.h"

#include "base/error.h"

#include <algorithm>
#include <string_view>

namespace sd {
namespace {

constexpr size_t kSniffed = 64;

std::string first_bytes(const File & file) {
    std::string bytes(size_t(std::min<uint64_t>(file.size(), kSniffed)), '\0');
    file.read(0, bytes.data(), bytes.size());
    return bytes;
}

// The length of a safetensors header comes first and is below 4 GiB for any file that could be meant as one;
// GGUF, zip archives and pickles never have zeros there.
bool has_safetensors_start(std::string_view bytes) {
    return bytes.size() > 8 && bytes[8] == '{' && bytes.substr(4, 4) == std::string_view("\0\0\0\0", 4);
}

bool is_pytorch(std::string_view bytes) {
    if (bytes.starts_with("PK\x03\x04")) return true;
    // A pickle of protocol 2 to 5, which begins with its number.
    return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

[[noreturn]] void fail(const File & file, std::string cause, std::string advice = {}) {
    throw Error({"E_CONTAINER", file.path(), {}, std::move(cause), std::move(advice)});
}

// What people have in place of a model when a download went wrong.
[[noreturn]] void refuse(const File & file, std::string_view bytes) {
    const std::string again = "fetch it again";
    if (bytes.empty()) fail(file, "is empty", again);
    if (bytes.find_first_not_of('\0') == std::string_view::npos) {
        fail(file, "begins with zeros: its download did not finish", again);
    }
    if (bytes.starts_with("version https://git-lfs")) {
        fail(file, "is a Git LFS pointer, not the model it stands for", "run `git lfs pull`");
    }
    const size_t text = bytes.find_first_not_of(" \t\r\n");
    if (text != std::string_view::npos && bytes[text] == '<') {
        fail(file, "is a web page, not a model", "download the file, not the page about it");
    }
    fail(file, "is not a model file: it begins like neither safetensors, GGUF nor PyTorch");
}

} // namespace

const char * container_name(ContainerKind kind) {
    switch (kind) {
    case ContainerKind::safetensors: return "safetensors";
    case ContainerKind::gguf: return "GGUF";
    case ContainerKind::pytorch: return "PyTorch";
    }
    return "unknown";
}

ContainerKind container_kind(const File & file) {
    const std::string bytes = first_bytes(file);
    if (has_safetensors_start(bytes)) return ContainerKind::safetensors;
    if (bytes.starts_with("GGUF")) return ContainerKind::gguf;
    if (is_pytorch(bytes)) return ContainerKind::pytorch;
    // An impossible length: the reader says what is wrong with it.
    if (bytes.size() > 8 && bytes[8] == '{') return ContainerKind::safetensors;
    refuse(file, bytes);
}

Container read_container(const File & file) {
    switch (container_kind(file)) {
    case ContainerKind::safetensors: return read_safetensors(file);
    case ContainerKind::gguf: return read_gguf(file);
    case ContainerKind::pytorch: break;
    }
    return read_pytorch(file);
}

} // namespace sd
