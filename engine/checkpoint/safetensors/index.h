// The index of a model in several files: which tensor is in which shard. Only the text; opening the shards is
// for Checkpoint.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sd {

struct ShardIndex {
    std::vector<std::string> shards;                       // relative paths, each once, sorted
    std::map<std::string, uint32_t, std::less<>> shard_of; // tensor as stored -> index into shards
};

constexpr size_t kMostShards = 1000;

// Whether a file begins like JSON text, which no container does.
bool is_shard_index(const File & file);

// Throws Error. Paths are checked as text: relative, no "..", no control characters.
ShardIndex read_shard_index(const File & file);

// The shard's file beside the index, or an Error: it must exist and lie, links followed, in the folder of the
// index or of the file the index is a link to, or below.
std::string shard_path(const std::string & index_path, const std::string & shard);

} // namespace sd
