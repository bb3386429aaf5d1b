// From the calls that would rebuild a tensor to the tensor's place in the file, with every number checked
// against the storage it is in.
#pragma once

#include "checkpoint/pytorch/heap.h"
#include "checkpoint/tensor_info.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sd::pytorch {

struct Place {
    uint64_t offset = 0; // in the file
    uint64_t bytes = 0;
};

// Where the storage of a key is. An Error for one that the file does not have, or not readably.
using FindStorage = std::function<Place(std::string_view key)>;

// What a pickle says about a storage.
struct StorageId {
    std::string key;
    StoredType type;
    bool untyped = false; // elements are bytes; the tensor knows its type
    int64_t elements = 0;
};

// Bytes of one element as storages have them.
uint64_t element_bytes(StoredType type);

// The id of something outside the pickle (Kind::stored). An Error when it is no storage, or one of a type
// that cannot be read.
StorageId storage_id(const Heap & heap, Value stored);

// The key of a storage, and the bytes of its elements in the file, also of types that cannot be read.
std::pair<std::string, uint64_t> storage_unit(const Heap & heap, Value stored);

// Whether a value is a call that rebuilds a tensor, of a readable kind or not.
bool is_tensor(const Heap & heap, Value value);

// The tensor of such a call, under a name. `file_bytes` bounds what it may claim to hold.
TensorInfo tensor_of(const Heap & heap, Value value, const std::string & name, const FindStorage & find,
                     uint64_t file_bytes);

} // namespace sd::pytorch
