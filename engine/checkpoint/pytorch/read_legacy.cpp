#include "base/error.h"
#include "checkpoint/pytorch/layouts.h"
#include "checkpoint/pytorch/unpickler.h"

#include <map>
#include <memory>

namespace sd::pytorch {
namespace {

// 0x1950a86a20f9469cfc6c, and the one version there has been.
constexpr std::string_view kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kVersion = 1001;

using Places = std::map<std::string, Place, std::less<>>;

[[noreturn]] void fail(std::string code, std::string cause, std::string advice = {}) {
    throw Error({std::move(code), {}, {}, std::move(cause), std::move(advice)});
}

void check_magic(const Heap & heap, Value magic) {
    if (magic.kind == Kind::big && heap.text(magic) == kMagic) return;
    fail("E_PICKLE", "is a pickle, but none that torch.save wrote",
         "load it with Python and save its tensors with torch.save");
}

void check_version(Value version) {
    if (version.kind == Kind::integer && version.number == kVersion) return;
    fail("E_PICKLE", "is of a version of torch.save's format that is not known",
         "load it with torch and save it again");
}

void check_byte_order(const Heap & heap, Value facts) {
    if (facts.kind != Kind::dict) fail("E_PICKLE", "does not tell the byte order of its numbers");
    const std::vector<Value> & items = heap.items(facts);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (items[i].kind != Kind::text || heap.text(items[i]) != "little_endian") continue;
        if (items[i + 1].kind == Kind::boolean && items[i + 1].number == 1) return;
        fail("E_PICKLE", "has its numbers in the byte order \"big\"",
             "save it again on a little-endian machine");
    }
    fail("E_PICKLE", "does not tell the byte order of its numbers");
}

// Bytes per element by key, for all storages the pickle speaks of. Those whose size is not known are left
// out: the tensor that needs one says why.
std::map<std::string, uint64_t, std::less<>> units_of(const Heap & heap) {
    std::map<std::string, uint64_t, std::less<>> out;
    for (size_t i = 0; i < heap.objects(); ++i) {
        if (heap.object(i).kind != Kind::stored) continue;
        try {
            const auto [key, unit] = storage_unit(heap, heap.object(i));
            const auto [found, is_new] = out.try_emplace(key, unit);
            if (!is_new && found->second != unit) {
                fail("E_STORAGE", "says that storage \"" + printable(key) + "\" is of two types");
            }
        } catch (const Error & e) {
            if (e.parts().code != "E_STORAGE" || e.parts().cause.starts_with("says")) throw;
        }
    }
    return out;
}

Places read_places(const File & file, const Heap & heap, Value keys, uint64_t at) {
    if (keys.kind != Kind::list) fail("E_PICKLE", "has no list of its storages");
    const auto units = units_of(heap);
    Places out;
    for (const Value key : heap.items(keys)) {
        if (key.kind != Kind::text && key.kind != Kind::integer)
            fail("E_PICKLE", "has no list of its storages");
        const std::string name =
            key.kind == Kind::text ? std::string(heap.text(key)) : std::to_string(key.number);
        const auto unit = units.find(name);
        if (unit == units.end()) {
            fail("E_STORAGE", "has a storage \"" + printable(name) + "\" of a type that is not known");
        }
        int64_t elements = 0;
        file.read(at, &elements, sizeof elements);
        at += sizeof elements;
        if (elements < 0) {
            fail("E_STORAGE",
                 "has a storage \"" + printable(name) + "\" of " + std::to_string(elements) + " elements");
        }
        if (uint64_t(elements) > (file.size() - at) / unit->second) {
            fail("E_TRUNCATED",
                 "the file is shorter than its header says: storage \"" + printable(name) + "\" has " +
                     std::to_string(elements) + " elements, and " + std::to_string(file.size() - at) +
                     " bytes are left",
                 "the file is incomplete: fetch it again");
        }
        const uint64_t bytes = uint64_t(elements) * unit->second;
        if (!out.try_emplace(name, Place{at, bytes}).second) {
            fail("E_STORAGE", "has a storage \"" + printable(name) + "\" twice");
        }
        at += bytes;
    }
    return out;
}

} // namespace

Contents read_legacy(const File & file) {
    Contents out;
    Stream in(file, 0, file.size());
    Unpickler unpickler(in, out.heap);
    check_magic(out.heap, unpickler.load());
    check_version(unpickler.load());
    check_byte_order(out.heap, unpickler.load());
    out.root = unpickler.load();
    const Value keys = unpickler.load();
    const auto places = std::make_shared<const Places>(read_places(file, out.heap, keys, in.position()));
    out.find = [places](std::string_view key) {
        const auto found = places->find(key);
        if (found == places->end()) fail("E_STORAGE", "the file has no storage \"" + printable(key) + "\"");
        return found->second;
    };
    return out;
}

} // namespace sd::pytorch
