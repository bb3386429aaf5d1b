#include "checkpoint/pytorch/test_files.h"

#include "base/error.h"
#include "checkpoint/container.h"

#include <cstring>

namespace sd::pytorch::test {

Pickle & Pickle::integer(int64_t v) {
    if (v >= 0 && v < 256) return op('K', uint8_t(v));
    if (v >= 0 && v < 65536) return op('M', uint16_t(v));
    if (v == int32_t(v)) return op('J', int32_t(v));
    return raw("\x8a").op('\x08', v);
}

Pickle & Pickle::integers(const std::vector<int64_t> & values) {
    mark();
    for (const int64_t v : values) integer(v);
    return tuple();
}

Pickle & Pickle::storage(const TestTensor & t) {
    const bool untyped = t.storage == "UntypedStorage";
    mark().text("storage").global(untyped ? "torch.storage" : "torch", t.storage);
    return text(t.key).text("cpu").integer(t.elements).tuple().raw("Q");
}

Pickle & Pickle::tensor(const TestTensor & t) {
    global("torch._utils", "_rebuild_tensor_v2").mark().storage(t).integer(t.offset);
    integers(t.size).integers(t.stride).boolean(false);
    return global("collections", "OrderedDict").empty_tuple().reduce().tuple().reduce();
}

Pickle & Pickle::typed_tensor(const TestTensor & t, const std::string & type) {
    TestTensor untyped = t;
    untyped.storage = "UntypedStorage";
    global("torch._utils", "_rebuild_tensor_v3").mark().storage(untyped).integer(t.offset);
    integers(t.size).integers(t.stride).boolean(false);
    global("collections", "OrderedDict").empty_tuple().reduce();
    return global("torch", type).tuple().reduce();
}

Pickle table(const std::vector<std::pair<std::string, TestTensor>> & tensors) {
    Pickle p;
    p.proto().dict().mark();
    for (const auto & [name, tensor] : tensors) p.text(name).tensor(tensor);
    return p.items().stop();
}

std::string zip(const std::vector<TestEntry> & entries, bool zip64) {
    std::string out, directory;
    const auto size32 = [](int64_t given, size_t right) {
        return number(uint32_t(given < 0 ? right : given));
    };
    for (const TestEntry & e : entries) {
        const std::string & local = e.local_name.empty() ? e.name : e.local_name;
        const size_t place = out.size(), size = e.data.size();
        const std::string kind = number(e.flags) + number(e.method) + std::string(8, '\0');
        out += number(0x04034b50u) + number(uint16_t(0)) + kind + size32(e.local_size, size) +
               size32(e.local_size, size) + number(uint16_t(local.size())) +
               number(uint16_t(e.extra.size())) + local + e.extra + e.data;
        // The wide numbers: size, packed size and place, all of which the short forms leave open.
        const std::string wide = number(uint16_t(1)) + number(uint16_t(24)) +
                                 number(uint64_t(e.table_size < 0 ? size : e.table_size)) +
                                 number(uint64_t(e.packed_size < 0 ? size : e.packed_size)) +
                                 number(uint64_t(e.place < 0 ? place : e.place));
        const std::string open(4, '\xff');
        directory += number(0x02014b50u) + number(0u) + kind +
                     (zip64 ? open + open : size32(e.packed_size, size) + size32(e.table_size, size)) +
                     number(uint16_t(e.name.size())) + number(uint16_t(zip64 ? wide.size() : 0)) +
                     std::string(10, '\0') + (zip64 ? open : size32(e.place, place)) + e.name +
                     (zip64 ? wide : "");
    }
    const size_t at = out.size(), n = entries.size();
    out += directory;
    if (zip64) {
        const size_t end = out.size();
        out += number(0x06064b50u) + number(uint64_t(44)) + std::string(12, '\0') + number(uint64_t(n)) +
               number(uint64_t(n)) + number(uint64_t(directory.size())) + number(uint64_t(at));
        out += number(0x07064b50u) + number(0u) + number(uint64_t(end)) + number(1u);
    }
    return out + number(0x06054b50u) + number(0u) + number(uint16_t(n)) + number(uint16_t(n)) +
           number(uint32_t(directory.size())) + number(uint32_t(at)) + number(uint16_t(0));
}

std::string torch_zip(const Pickle & pickle, const std::vector<std::string> & storages) {
    std::vector<TestEntry> entries{{"archive/data.pkl", pickle.bytes}, {"archive/byteorder", "little"}};
    for (size_t i = 0; i < storages.size(); ++i) {
        entries.push_back({"archive/data/" + std::to_string(i), storages[i]});
    }
    entries.push_back({"archive/version", "3\n"});
    return zip(entries);
}

std::string legacy_head(bool little_endian, int64_t version) {
    Pickle p;
    p.proto().raw("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").stop();
    p.proto().integer(version).stop();
    p.proto().dict().mark().text("protocol_version").integer(1001).text("little_endian");
    return p.boolean(little_endian).items().stop().bytes;
}

std::string legacy_keys(const std::vector<std::string> & keys) {
    Pickle p;
    p.proto().list().mark();
    for (const std::string & key : keys) p.text(key);
    return p.appends().stop().bytes;
}

std::string torch_legacy(const Pickle & pickle, const std::vector<std::string> & storages, size_t unit) {
    std::vector<std::string> keys;
    std::string data;
    for (size_t i = 0; i < storages.size(); ++i) {
        keys.push_back(std::to_string(i));
        data += number(int64_t(storages[i].size() / unit)) + storages[i];
    }
    return legacy_head() + pickle.bytes + legacy_keys(keys) + data;
}

File file_of(const std::string & bytes, const std::string & name) {
    std::vector<std::byte> copy(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
    return File::of_bytes(name, std::move(copy));
}

std::string refusal(const std::string & bytes) {
    try {
        read_pytorch(file_of(bytes));
    } catch (const Error & e) {
        return e.what();
    }
    return "accepted";
}

} // namespace sd::pytorch::test
