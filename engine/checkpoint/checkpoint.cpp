#include "checkpoint/checkpoint.h"

#include "checkpoint/prefixes.h"
#include "checkpoint/safetensors/index.h"

#include <algorithm>
#include <iterator>

namespace sd {
namespace {

struct Loaded {
    File file;
    Container container;
    std::string index; // as in OpenedFile
};

// People give the index; which files belong to it they need not know.
std::string of_shard(const std::string & cause, const std::string & index) {
    return index.empty() ? cause : cause + "; the file is a shard of " + printable(index, 400);
}

std::string count_text(size_t n, const std::string & example) {
    const std::string name = printable(example);
    return n == 1 ? "1 tensor (" + name + ")" : std::to_string(n) + " tensors (" + name + ", ...)";
}

// Keeps of a shard what the index does not give to another one.
void drop_foreign(Loaded & shard, uint32_t number, const ShardIndex & index) {
    std::vector<TensorInfo> & tensors = shard.container.tensors;
    std::vector<TensorInfo> kept;
    size_t unlisted = 0, foreign = 0;
    std::string first_unlisted, first_foreign;
    for (TensorInfo & t : tensors) {
        const auto listed = index.shard_of.find(t.name);
        if (listed != index.shard_of.end() && listed->second != number) {
            if (foreign++ == 0) first_foreign = t.name;
            continue;
        }
        if (listed == index.shard_of.end() && unlisted++ == 0) first_unlisted = t.name;
        kept.push_back(std::move(t));
    }
    tensors = std::move(kept);
    std::vector<std::string> & warnings = shard.container.warnings;
    if (unlisted > 0) {
        warnings.push_back(count_text(unlisted, first_unlisted) + " of this shard the index does not list");
    }
    if (foreign > 0) {
        warnings.push_back(count_text(foreign, first_foreign) +
                           " of this shard the index lists for another shard, and are not used");
    }
}

// Every tensor the index promises is there. Both sides are sorted by name.
void check_complete(const std::vector<Loaded> & shards, const ShardIndex & index, const std::string & path) {
    std::vector<std::string_view> there;
    for (const Loaded & shard : shards) {
        for (const TensorInfo & t : shard.container.tensors) there.push_back(t.name);
    }
    std::sort(there.begin(), there.end());
    for (const auto & [name, shard] : index.shard_of) {
        if (std::binary_search(there.begin(), there.end(), name)) continue;
        throw Error({"E_CONTAINER", path, name,
                     "is not in the shard " + printable(index.shards[shard]) + ", where the index has it",
                     "index and shards are of different downloads: fetch them again"});
    }
}

Loaded load_shard(const std::string & path, const std::string & index) {
    try {
        File shard = File::open(path);
        Container container = read_container(shard);
        return {std::move(shard), std::move(container), index};
    } catch (const Error & error) {
        Error::Parts parts = error.parts();
        parts.cause = of_shard(parts.cause, index);
        throw Error(std::move(parts));
    }
}

std::vector<Loaded> load_shards(const File & file) {
    const ShardIndex index = read_shard_index(file);
    std::vector<Loaded> shards;
    for (uint32_t i = 0; i < index.shards.size(); ++i) {
        shards.push_back(load_shard(shard_path(file.path(), index.shards[i]), file.path()));
        drop_foreign(shards.back(), i, index);
    }
    check_complete(shards, index, file.path());
    return shards;
}

std::vector<Loaded> load(const std::string & path) {
    File file = File::open(path);
    if (is_shard_index(file)) return load_shards(file);
    std::vector<Loaded> one;
    Container container = read_container(file);
    one.push_back({std::move(file), std::move(container), {}});
    return one;
}

bool by_name(const TensorInfo & a, const TensorInfo & b) { return a.name < b.name; }

} // namespace

void Checkpoint::add(const std::string & path, Component component) {
    // Into a copy, so that an Error leaves everything as it was.
    Checkpoint next = *this;
    for (Loaded & loaded : load(path)) {
        const int file = int(next.files_.size());
        for (TensorInfo & t : loaded.container.tensors) {
            t.file = file;
            std::string name = table_name(t.name, component);
            if (name != t.name) next.stored_names_.try_emplace({file, name}, std::move(t.name));
            t.name = std::move(name);
            next.tensors_.push_back(std::move(t));
        }
        loaded.container.tensors = {};
        next.files_.push_back(
            {std::move(loaded.file), std::move(loaded.container), component, std::move(loaded.index)});
    }
    std::stable_sort(next.tensors_.begin(), next.tensors_.end(), by_name);
    const auto same = [](const TensorInfo & a, const TensorInfo & b) { return a.name == b.name; };
    const auto twice = std::adjacent_find(next.tensors_.begin(), next.tensors_.end(), same);
    if (twice != next.tensors_.end()) next.refuse_twice(*twice, *std::next(twice));
    *this = std::move(next);
}

void Checkpoint::refuse_twice(const TensorInfo & first, const TensorInfo & second) const {
    if (first.file != second.file) {
        throw error(second, "E_CONTAINER", "is also in " + file_of(first).path(),
                    "give each part of a model once");
    }
    throw Error({"E_CONTAINER", file_of(first).path(), first.name,
                 "is in the file under several names for the same part", "the file mixes two models"});
}

const TensorInfo * Checkpoint::find(std::string_view name) const {
    const auto before = [](const TensorInfo & t, std::string_view n) { return t.name < n; };
    const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name, before);
    return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const TensorInfo & Checkpoint::get(std::string_view name) const {
    if (const TensorInfo * tensor = find(name)) return *tensor;
    const std::string file = files_.size() == 1 ? files_[0].file.path() : std::string();
    throw Error({"E_MISSING", file, std::string(name), "is missing", {}});
}

const std::string & Checkpoint::stored_name(const TensorInfo & tensor) const {
    const auto found = stored_names_.find({tensor.file, tensor.name});
    return found == stored_names_.end() ? tensor.name : found->second;
}

Error Checkpoint::error(const TensorInfo & tensor, std::string code, std::string cause,
                        std::string advice) const {
    const std::string & index = files_[size_t(tensor.file)].index;
    return Error({std::move(code), file_of(tensor).path(), stored_name(tensor), of_shard(cause, index),
                  std::move(advice)});
}

Checkpoint open_model(const ModelPaths & paths) {
    const std::pair<const std::string &, Component> given[] = {{paths.model, Component::model},
                                                               {paths.diffusion_model, Component::diffusion},
                                                               {paths.llm, Component::llm},
                                                               {paths.vae, Component::vae}};
    Checkpoint checkpoint;
    for (const auto & [path, component] : given) {
        if (!path.empty()) checkpoint.add(path, component);
    }
    if (!checkpoint.files().empty()) return checkpoint;
    throw Error({"E_ARGUMENT", {}, {}, "no model file is given", "-m FILE or --diffusion-model FILE"});
}

} // namespace sd
