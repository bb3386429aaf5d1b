// Any bytes as a safetensors file and as the index of one in shards. What is accepted must lie in the file
// and apart, and must survive being written and read again.
#include "engine/base/error.h"
#include "engine/checkpoint/container.h"
#include "engine/checkpoint/safetensors/index.h"
#include "engine/checkpoint/safetensors/writer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

void check_places(const sd::Container & c, uint64_t file_bytes) {
    std::vector<std::pair<uint64_t, uint64_t>> places;
    for (const sd::TensorInfo & t : c.tensors) {
        require(t.offset <= file_bytes && t.bytes <= file_bytes - t.offset);
        require(sd::tensor_bytes(t.type, t.shape) == t.bytes);
        if (t.bytes > 0) places.emplace_back(t.offset, t.offset + t.bytes);
    }
    std::sort(places.begin(), places.end());
    for (size_t i = 1; i < places.size(); ++i) require(places[i].first >= places[i - 1].second);
}

void check_rewrite(const sd::Container & c) {
    std::vector<sd::TensorDeclaration> declared;
    for (const sd::TensorInfo & t : c.tensors) declared.push_back({t.name, t.type, t.shape});
    uint64_t data = 0;
    const std::string start = sd::safetensors_start(declared, c.metadata, data);
    std::vector<std::byte> bytes(start.size() + size_t(data));
    std::memcpy(bytes.data(), start.data(), start.size());
    const sd::Container again = sd::read_safetensors(sd::File::of_bytes("again", std::move(bytes)));
    require(again.warnings.empty() && again.metadata == c.metadata);
    require(again.tensors.size() == c.tensors.size());
    for (size_t i = 0; i < declared.size(); ++i) {
        const sd::TensorInfo & t = again.tensors[i];
        require(t.name == declared[i].name && t.type == declared[i].type && t.shape == declared[i].shape);
    }
}

// An Error of one line, or nothing else.
template <typename Run>
void try_to(Run run) {
    try {
        run();
    } catch (const sd::Error & error) {
        require(std::strchr(error.what(), '\n') == nullptr && std::strncmp(error.what(), "file: ", 6) == 0);
    }
}

void read(const sd::File & file) {
    const sd::Container c = sd::read_safetensors(file);
    check_places(c, file.size());
    check_rewrite(c);
}

// The same bytes as a header of the right length before some data: a length is hard to hit by chance.
sd::File with_length(const uint8_t * data, size_t size) {
    std::vector<std::byte> bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(std::byte(uint64_t(size) >> (8 * i)));
    for (size_t i = 0; i < size; ++i) bytes.push_back(std::byte(data[i]));
    bytes.resize(bytes.size() + 64);
    return sd::File::of_bytes("file", std::move(bytes));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    const auto * bytes = reinterpret_cast<const std::byte *>(data);
    const sd::File file = sd::File::of_bytes("file", std::vector<std::byte>(bytes, bytes + size));
    try_to([&] { sd::container_kind(file); });
    try_to([&] { read(file); });
    try_to([&] { read(with_length(data, size)); });
    try_to([&] {
        const sd::ShardIndex index = sd::read_shard_index(file);
        require(index.shards.size() <= sd::kMostShards);
        for (const auto & [tensor, shard] : index.shard_of) require(shard < index.shards.size());
    });
    return 0;
}
