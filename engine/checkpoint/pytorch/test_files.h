// Writes files of torch.save as torch writes them, and files that lie.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sd::pytorch::test {

// The bytes of a number, least significant first.
template <class T>
std::string number(T v) {
    return std::string(reinterpret_cast<const char *>(&v), sizeof v);
}

struct TestTensor {
    std::string key = "0";
    std::string storage = "FloatStorage";
    int64_t elements = 0; // of the storage
    int64_t offset = 0;
    std::vector<int64_t> size, stride;
};

// One pickle, opcode by opcode. Every function appends what pushes, or takes, the value it is named after.
class Pickle {
  public:
    std::string bytes;

    Pickle & raw(const std::string & s) {
        bytes += s;
        return *this;
    }
    // An opcode and the number that belongs to it.
    template <class T>
    Pickle & op(char code, T v) {
        bytes += code;
        return raw(number(v));
    }
    Pickle & proto(uint8_t version = 2) { return op('\x80', version); }
    Pickle & stop() { return raw("."); }
    Pickle & none() { return raw("N"); }
    Pickle & boolean(bool v) { return raw(v ? "\x88" : "\x89"); }
    Pickle & integer(int64_t v); // in the shortest form
    Pickle & text(const std::string & s) { return op('X', uint32_t(s.size())).raw(s); }
    Pickle & global(const std::string & module, const std::string & name) {
        return raw("c").raw(module).raw("\n").raw(name).raw("\n");
    }
    Pickle & mark() { return raw("("); }
    Pickle & tuple() { return raw("t"); } // of what is above the mark
    Pickle & empty_tuple() { return raw(")"); }
    Pickle & dict() { return raw("}"); }
    Pickle & list() { return raw("]"); }
    Pickle & items() { return raw("u"); }   // from the mark into the dictionary
    Pickle & appends() { return raw("e"); } // from the mark into the list
    Pickle & reduce() { return raw("R"); }
    Pickle & integers(const std::vector<int64_t> & values);

    Pickle & storage(const TestTensor & t);
    Pickle & tensor(const TestTensor & t); // through _rebuild_tensor_v2
    // The same through _rebuild_tensor_v3: `t.elements` are bytes.
    Pickle & typed_tensor(const TestTensor & t, const std::string & type);
};

// A dictionary of tensors, the usual content.
Pickle table(const std::vector<std::pair<std::string, TestTensor>> & tensors);

struct TestEntry {
    std::string name, data;
    uint16_t flags = 0, method = 0;
    std::string extra;                                     // in the header before the data
    std::string local_name;                                // empty: the same
    int64_t local_size = -1;                               // -1: the right one
    int64_t table_size = -1, packed_size = -1, place = -1; // in the table of contents
};

// A zip archive; zip64: with the wide records torch writes.
std::string zip(const std::vector<TestEntry> & entries, bool zip64 = false);

// A whole file of torch.save in the zip layout: the pickle and storages "0", "1" ... .
std::string torch_zip(const Pickle & pickle, const std::vector<std::string> & storages);

// The same in the layout before torch 1.6. `unit`: bytes per element of all storages.
std::string torch_legacy(const Pickle & pickle, const std::vector<std::string> & storages, size_t unit);

// The four pickles around the one that was saved.
std::string legacy_head(bool little_endian = true, int64_t version = 1001);
std::string legacy_keys(const std::vector<std::string> & keys);

File file_of(const std::string & bytes, const std::string & name = "m.pt");

// The line of the refusal when the file is read, or "accepted".
std::string refusal(const std::string & bytes);

} // namespace sd::pytorch::test
