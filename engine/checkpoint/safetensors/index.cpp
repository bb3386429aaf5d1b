#include "checkpoint/safetensors/index.h"

#include "base/error.h"
#include "checkpoint/limits.h"
#include "checkpoint/safetensors/header.h"
#include "checkpoint/safetensors/json_stream.h"

#include <algorithm>
#include <filesystem>

namespace sd {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostIndexBytes = 100'000'000;

[[noreturn]] void fail(std::string cause, std::string advice = {}) {
    throw Error({"E_CONTAINER", {}, {}, std::move(cause), std::move(advice)});
}

void check_shard_name(const std::string & name) {
    const auto is_control = [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; };
    if (name.empty() || name.size() > kMostNameBytes || std::any_of(name.begin(), name.end(), is_control)) {
        fail("the shard " + in_quotes(name) + " has no legal name");
    }
    const fs::path path(name);
    const bool up = std::find(path.begin(), path.end(), fs::path("..")) != path.end();
    if (path.is_absolute() || up) {
        fail("the shard " + in_quotes(name) + " is outside the folder of the index",
             "do not trust this file");
    }
}

class IndexHandler : public JsonHandler {
  public:
    explicit IndexHandler(ShardIndex & index) : index_(index) {}

    void begin_object() override {
        if (depth_++ == 1 && key_ == kMap) {
            if (seen_) fail("weight_map appears twice");
            seen_ = inside_ = true;
        } else if (inside_) {
            wrong();
        }
    }
    void end_object() override {
        if (--depth_ == 1) inside_ = false;
    }
    void begin_array() override {
        if (depth_++ == 0) fail("is not a JSON object");
        if (inside_ || (depth_ == 2 && key_ == kMap)) wrong();
    }
    void end_array() override { --depth_; }
    void key(std::string & name) override {
        if (depth_ == 1 || inside_) key_ = std::move(name);
    }
    void scalar(JsonScalar & value) override {
        if (depth_ == 0) fail("is not a JSON object");
        if (depth_ == 1 && key_ == kMap) wrong();
        if (!inside_) return;
        if (value.kind != JsonScalar::string) wrong();
        add(value.text);
    }

    // Shards were numbered as they came.
    void finish() {
        if (!seen_) {
            fail("has no weight_map: it is JSON, but not the index of a model",
                 "name the model's file, or its .index.json");
        }
        std::vector<uint32_t> rank(numbers_.size());
        for (const auto & [name, number] : numbers_) {
            rank[number] = uint32_t(index_.shards.size());
            index_.shards.push_back(name);
        }
        for (auto & [tensor, shard] : index_.shard_of) shard = rank[shard];
        if (index_.shards.empty()) fail("its weight_map is empty");
    }

  private:
    [[noreturn]] void wrong() const {
        fail(inside_ ? "weight_map: the value of " + in_quotes(key_) + " is not the name of a file"
                     : "its weight_map is not an object of file names");
    }

    void add(const std::string & shard) {
        auto found = numbers_.find(shard);
        if (found == numbers_.end()) {
            check_shard_name(shard);
            if (numbers_.size() == kMostShards) {
                fail("has more than " + std::to_string(kMostShards) + " shards");
            }
            found = numbers_.emplace(shard, uint32_t(numbers_.size())).first;
        }
        if (!index_.shard_of.try_emplace(key_, found->second).second) {
            fail("weight_map: " + in_quotes(key_) + " appears twice");
        }
    }

    static constexpr std::string_view kMap = "weight_map";

    ShardIndex & index_;
    std::map<std::string, uint32_t> numbers_;
    std::string key_;
    int depth_ = 0;
    bool seen_ = false, inside_ = false;
};

ShardIndex read(const File & file) {
    if (file.size() > kMostIndexBytes) {
        fail("has " + std::to_string(file.size()) + " bytes, more than the index of a model can have");
    }
    std::string text(size_t(file.size()), '\0');
    file.read(0, text.data(), text.size());
    ShardIndex index;
    IndexHandler handler(index);
    parse_json(text, "the index", handler);
    handler.finish();
    return index;
}

// Both resolved.
bool lies_below(const fs::path & path, const fs::path & folder) {
    const auto [rest, none] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return !folder.empty() && rest == folder.end();
}

} // namespace

bool is_shard_index(const File & file) {
    char start[8] = {};
    const size_t bytes = size_t(std::min<uint64_t>(file.size(), sizeof(start)));
    file.read(0, start, bytes);
    const std::string_view text(start, bytes);
    // The length of a safetensors header may begin with any byte, but ends with zeros.
    if (text.find('\0') != std::string_view::npos) return false;
    const size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && text[first] == '{';
}

ShardIndex read_shard_index(const File & file) {
    try {
        return read(file);
    } catch (const Error & error) {
        throw error.in_file(file.path());
    }
}

std::string shard_path(const std::string & index_path, const std::string & shard) {
    const auto refuse = [&](std::string cause, std::string advice) {
        throw Error({"E_CONTAINER", index_path, {}, std::move(cause), std::move(advice)});
    };
    const fs::path index(index_path), path = index.parent_path() / shard;
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error) {
        refuse("its shard " + in_quotes(shard) + " cannot be opened: " + error.message(),
               "all shards belong into the folder of the index");
    }
    // Download caches keep files under other names in a folder apart and link to them: to the index as well
    // as to the shards.
    const fs::path here = fs::canonical(index.parent_path().empty() ? "." : index.parent_path(), error);
    const fs::path behind = error ? fs::path() : fs::canonical(index, error).parent_path();
    if (error || !(lies_below(real, here) || lies_below(real, behind))) {
        refuse("its shard " + in_quotes(shard) + " is a link that leaves the folder of the index",
               "put the file itself there");
    }
    return path.string();
}

} // namespace sd
