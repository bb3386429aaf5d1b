#include "base/error.h"
#include "checkpoint/pytorch/tensors.h"

#include <array>

namespace sd::pytorch {
namespace {

struct StorageType {
    std::string_view name;
    StoredType type;
};

constexpr StorageType kStorageTypes[] = {
    {"FloatStorage", StoredType::f32},  {"HalfStorage", StoredType::f16},
    {"DoubleStorage", StoredType::f64}, {"BFloat16Storage", StoredType::bf16},
    {"LongStorage", StoredType::i64},   {"IntStorage", StoredType::i32},
    {"ShortStorage", StoredType::i16},  {"CharStorage", StoredType::i8},
    {"ByteStorage", StoredType::u8},    {"BoolStorage", StoredType::boolean},
    {"UntypedStorage", StoredType::u8},
};

// Elements no tensor of a model is read from. Files of the older layout have their storages one after the
// other, so their sizes count all the same.
struct OtherStorage {
    std::string_view name;
    uint64_t element_bytes;
};

constexpr OtherStorage kOtherStorages[] = {
    {"ComplexFloatStorage", 8}, {"ComplexDoubleStorage", 16}, {"QInt8Storage", 1},    {"QUInt8Storage", 1},
    {"QInt32Storage", 4},       {"QUInt4x2Storage", 1},       {"QUInt2x4Storage", 1},
};

// Where a class stands tells the device it was saved from, which does not matter here.
std::string_view class_name(std::string_view name) {
    for (const std::string_view module : {"torch.cuda.", "torch.storage.", "torch."}) {
        if (name.starts_with(module)) return name.substr(module.size());
    }
    return {};
}

[[noreturn]] void fail(std::string cause, std::string advice = {}) {
    throw Error({"E_STORAGE", {}, {}, std::move(cause), std::move(advice)});
}

// ("storage", class, key, device, number of elements[, None]), without the type.
StorageId untyped_id(const Heap & heap, Value stored) {
    const Value id = heap.items(stored)[0];
    if (id.kind != Kind::tuple) fail("its storage is not described");
    const std::vector<Value> & items = heap.items(id);
    const bool complete = items.size() >= 5 && items[0].kind == Kind::text && items[1].kind == Kind::global &&
                          (items[2].kind == Kind::text || items[2].kind == Kind::integer) &&
                          items[4].kind == Kind::integer;
    if (!complete || heap.text(items[0]) != "storage") fail("its storage is not described");
    if (items.size() > 5 && items[5].kind != Kind::none) {
        fail("its storage is a part of another one, as torch before 0.4 could save it",
             "load it with torch and save it again");
    }
    StorageId out;
    out.key =
        items[2].kind == Kind::text ? std::string(heap.text(items[2])) : std::to_string(items[2].number);
    out.elements = items[4].number;
    if (out.elements < 0) fail("its storage has " + std::to_string(out.elements) + " elements");
    return out;
}

// The class of a storage untyped_id took.
const std::string & class_of(const Heap & heap, Value stored) {
    return heap.name(heap.items(heap.items(stored)[0])[1]);
}

} // namespace

uint64_t element_bytes(StoredType type) { return *tensor_bytes(type, {1}); }

std::pair<std::string, uint64_t> storage_unit(const Heap & heap, Value stored) {
    const StorageId id = untyped_id(heap, stored);
    for (const OtherStorage & other : kOtherStorages) {
        if (class_name(class_of(heap, stored)) == other.name) return {id.key, other.element_bytes};
    }
    return {id.key, element_bytes(storage_id(heap, stored).type)};
}

StorageId storage_id(const Heap & heap, Value stored) {
    StorageId out = untyped_id(heap, stored);
    const std::string & name = class_of(heap, stored);
    for (const StorageType & known : kStorageTypes) {
        if (class_name(name) != known.name) continue;
        out.type = known.type;
        out.untyped = known.name == "UntypedStorage";
        return out;
    }
    fail("its storage is a " + printable(name) + ", which cannot be read",
         "convert it to a plain type with .to() before saving");
}

} // namespace sd::pytorch
