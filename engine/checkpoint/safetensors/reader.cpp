// safetensors: 8 bytes with the length of the header, the header in JSON, the data.
#include "base/error.h"
#include "checkpoint/container.h"
#include "checkpoint/limits.h"
#include "checkpoint/safetensors/header.h"
#include "checkpoint/safetensors/layout.h"

namespace sd {
namespace {

constexpr uint64_t kLengthBytes = 8;

[[noreturn]] void fail(std::string cause, std::string advice) {
    throw Error({"E_CONTAINER", {}, {}, std::move(cause), std::move(advice)});
}

uint64_t header_length(const File & file) {
    if (file.size() < kLengthBytes) {
        fail("has " + std::to_string(file.size()) + " bytes, too few for a safetensors file",
             "fetch it again");
    }
    uint8_t bytes[kLengthBytes];
    file.read(0, bytes, sizeof(bytes));
    uint64_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) length |= uint64_t(bytes[i]) << (8 * i);
    const std::string says =
        "its first 8 bytes say that its header has " + std::to_string(length) + " bytes, ";
    if (length > kMostHeaderBytes) {
        fail(says + "more than the " + std::to_string(kMostHeaderBytes) + " a header may have",
             "the file is damaged, or no safetensors file");
    }
    const uint64_t rest = file.size() - kLengthBytes;
    if (length > rest) {
        fail(says + "but only " + std::to_string(rest) + " follow",
             "the download is incomplete: fetch it again");
    }
    return length;
}

Container read(const File & file) {
    const uint64_t length = header_length(file);
    std::string json(size_t(length), '\0');
    file.read(kLengthBytes, json.data(), json.size());
    Container container = {ContainerKind::safetensors, {}, {}, nullptr, {}};
    // Blanks may follow the object; some writers fill up with zeros instead, which JSON does not allow.
    const size_t used = json.find_last_not_of('\0') + 1;
    if (used < json.size()) container.warnings.push_back("the header is filled up with NUL bytes");
    SafetensorsHeader header = parse_safetensors_header(std::string_view(json).substr(0, used));
    place_tensors(header.tensors, kLengthBytes + length, file.size(), header.warnings);
    container.tensors = std::move(header.tensors);
    container.metadata = std::move(header.metadata);
    container.warnings.insert(container.warnings.end(), header.warnings.begin(), header.warnings.end());
    return container;
}

} // namespace

Container read_safetensors(const File & file) {
    try {
        return read(file);
    } catch (const Error & error) {
        throw error.in_file(file.path());
    }
}

} // namespace sd
