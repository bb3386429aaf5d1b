// Field offsets are those of the zip specification (APPNOTE 6.3, sections 4.3.7 to 4.3.16 and 4.5.3).
#include "checkpoint/pytorch/zip_archive.h"

#include "base/error.h"

#include <algorithm>
#include <cstring>

namespace sd::pytorch {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kTableEntry = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint16_t kSizesFollow = 8; // flag: the sizes stand behind the data, and may be 0 before it

// Room for a million entries; a checkpoint has one per storage.
constexpr uint64_t kMostTable = uint64_t(1) << 26;

[[noreturn]] void fail(std::string cause, std::string advice = {}) {
    throw Error({"E_ZIP", {}, {}, std::move(cause), std::move(advice)});
}

[[noreturn]] void fail(const ZipEntry & entry, const std::string & cause, std::string advice = {}) {
    fail("entry \"" + printable(entry.name) + "\" of the zip archive " + cause, std::move(advice));
}

template <class T>
T number(const std::vector<std::byte> & bytes, size_t at) {
    T v;
    std::memcpy(&v, bytes.data() + at, sizeof v);
    return v;
}

std::vector<std::byte> bytes_of(const File & file, uint64_t offset, uint64_t size) {
    std::vector<std::byte> out(size);
    file.read(offset, out.data(), out.size());
    return out;
}

struct Table {
    uint64_t entries, bytes, offset;
    uint64_t most; // where the table must have ended
};

// The table's place from the record at the end of the file, which a comment may follow.
Table find_table(const File & file) {
    const uint64_t tail_bytes = std::min<uint64_t>(file.size(), kEndBytes + 0xffff);
    const std::vector<std::byte> tail = bytes_of(file, file.size() - tail_bytes, tail_bytes);
    for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
        if (number<uint32_t>(tail, at) != kEnd) continue;
        if (number<uint16_t>(tail, at + 20) != tail.size() - at - kEndBytes) continue;
        if (number<uint16_t>(tail, at + 4) != number<uint16_t>(tail, at + 6)) {
            fail("is one part of a zip archive in several parts");
        }
        return {number<uint16_t>(tail, at + 10), number<uint32_t>(tail, at + 12),
                number<uint32_t>(tail, at + 16), file.size() - tail.size() + at};
    }
    fail("is a zip archive without its end, where the table of contents is",
         "the file is incomplete: fetch it again");
}

// Replaces the table's place by the zip64 one, if the archive has one.
void widen(const File & file, Table & table) {
    if (table.most < kLocatorBytes) return;
    const std::vector<std::byte> locator = bytes_of(file, table.most - kLocatorBytes, kLocatorBytes);
    if (number<uint32_t>(locator, 0) != kEnd64Locator) return;
    const auto at = number<uint64_t>(locator, 8);
    if (table.most - kLocatorBytes < kEnd64Bytes || at > table.most - kLocatorBytes - kEnd64Bytes) {
        fail("is a zip archive whose end record points outside of it");
    }
    const std::vector<std::byte> end = bytes_of(file, at, kEnd64Bytes);
    if (number<uint32_t>(end, 0) != kEnd64)
        fail("is a zip archive whose end record points to something else");
    const Table wide{number<uint64_t>(end, 32), number<uint64_t>(end, 40), number<uint64_t>(end, 48), at};
    // All bits set stand for "see the wide record"; any other number must agree with it.
    const bool agrees = (table.entries == 0xffff || table.entries == wide.entries) &&
                        (table.bytes == 0xffffffff || table.bytes == wide.bytes) &&
                        (table.offset == 0xffffffff || table.offset == wide.offset);
    if (!agrees) fail("is a zip archive with two different end records");
    table = wide;
}

// The zip64 numbers of an entry: each is there when its short form has all bits set, in this order.
void widen(ZipEntry & entry, const std::vector<std::byte> & table, size_t at, size_t size) {
    const size_t end = at + size;
    while (end - at >= 4) {
        const auto id = number<uint16_t>(table, at), bytes = number<uint16_t>(table, at + 2);
        at += 4;
        if (bytes > end - at) break;
        if (id != 1) {
            at += bytes;
            continue;
        }
        size_t left = bytes;
        for (uint64_t * wide : {&entry.bytes, &entry.packed, &entry.header}) {
            if (*wide != 0xffffffff) continue;
            if (left < 8) fail(entry, "lacks its size");
            *wide = number<uint64_t>(table, at);
            at += 8, left -= 8;
        }
        return;
    }
}

std::vector<ZipEntry> read_table(const File & file, const Table & place) {
    if (place.bytes > place.most || place.offset > place.most - place.bytes) {
        fail("is a zip archive whose table of contents lies outside of it",
             "the file is incomplete: fetch it again");
    }
    if (place.bytes > kMostTable || place.entries > place.bytes / kEntryBytes) {
        fail("is a zip archive whose table of contents has " + std::to_string(place.entries) +
             " entries in " + std::to_string(place.bytes) + " bytes");
    }
    const std::vector<std::byte> table = bytes_of(file, place.offset, place.bytes);
    std::vector<ZipEntry> out(place.entries);
    size_t at = 0;
    for (ZipEntry & entry : out) {
        if (table.size() - at < kEntryBytes || number<uint32_t>(table, at) != kTableEntry) {
            fail("is a zip archive with a broken table of contents");
        }
        const size_t name = number<uint16_t>(table, at + 28), extra = number<uint16_t>(table, at + 30),
                     comment = number<uint16_t>(table, at + 32);
        if (name + extra + comment > table.size() - at - kEntryBytes) {
            fail("is a zip archive with a broken table of contents");
        }
        entry.name.assign(reinterpret_cast<const char *>(table.data()) + at + kEntryBytes, name);
        entry.flags = number<uint16_t>(table, at + 8);
        entry.method = number<uint16_t>(table, at + 10);
        entry.packed = number<uint32_t>(table, at + 20);
        entry.bytes = number<uint32_t>(table, at + 24);
        entry.header = number<uint32_t>(table, at + 42);
        widen(entry, table, at + kEntryBytes + name, extra);
        at += kEntryBytes + name + extra + comment;
    }
    return out;
}

// The header in front of an entry's data tells where the data starts, and must be of this entry.
void read_header(const File & file, uint64_t end, ZipEntry & entry) {
    if (end < kLocalBytes + entry.name.size() || entry.header > end - kLocalBytes - entry.name.size()) {
        fail(entry, "lies outside of it");
    }
    const std::vector<std::byte> head = bytes_of(file, entry.header, kLocalBytes + entry.name.size());
    const auto flags = number<uint16_t>(head, 6);
    const bool same = number<uint32_t>(head, 0) == kLocalHeader &&
                      number<uint16_t>(head, 26) == entry.name.size() &&
                      std::memcmp(head.data() + kLocalBytes, entry.name.data(), entry.name.size()) == 0 &&
                      number<uint16_t>(head, 8) == entry.method && (flags & 1) == (entry.flags & 1);
    if (!same) fail(entry, "has a header that differs from the table of contents");
    for (const auto & [at, size] : {std::pair(size_t(18), entry.packed), {size_t(22), entry.bytes}}) {
        const auto here = number<uint32_t>(head, at);
        const bool elsewhere = here == 0xffffffff || (here == 0 && (flags & kSizesFollow) != 0);
        if (here != size && !elsewhere) {
            fail(entry, "has " + std::to_string(here) + " bytes in its header and " + std::to_string(size) +
                            " in the table of contents");
        }
    }
    const uint64_t start = kLocalBytes + entry.name.size() + number<uint16_t>(head, 28); // behind the extras
    if (start > end - entry.header || entry.packed > end - entry.header - start) {
        fail(entry, "goes on beyond the archive's data", "the file is incomplete: fetch it again");
    }
    if (entry.method == 0 && entry.packed != entry.bytes) fail(entry, "has two different sizes");
    entry.data = entry.header + start;
}

void check_overlaps(const std::vector<ZipEntry> & entries) {
    std::vector<const ZipEntry *> order;
    for (const ZipEntry & entry : entries) order.push_back(&entry);
    std::sort(order.begin(), order.end(), [](auto * a, auto * b) { return a->header < b->header; });
    for (size_t i = 1; i < order.size(); ++i) {
        if (order[i]->header >= order[i - 1]->data + order[i - 1]->packed) continue;
        fail(*order[i], "shares bytes with \"" + printable(order[i - 1]->name) + "\"");
    }
}

} // namespace

ZipArchive ZipArchive::read(const File & file) {
    Table table = find_table(file);
    widen(file, table);
    ZipArchive out;
    out.entries_ = read_table(file, table);
    for (ZipEntry & entry : out.entries_) read_header(file, table.offset, entry);
    check_overlaps(out.entries_);
    for (size_t i = 0; i < out.entries_.size(); ++i) {
        if (!out.numbers_.try_emplace(out.entries_[i].name, i).second)
            fail(out.entries_[i], "is there twice");
    }
    return out;
}

const ZipEntry * ZipArchive::find(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? nullptr : &entries_[found->second];
}

const ZipEntry & ZipArchive::stored(std::string_view name) const {
    const ZipEntry * entry = find(name);
    if (entry == nullptr) fail("the zip archive has no entry \"" + printable(name) + "\"");
    if (entry->is_encrypted())
        fail(*entry, "is encrypted", "unpack it, and pack it again without a password");
    if (entry->method != 0) {
        fail(*entry, "is compressed", "unpack it, and pack it again without compression (zip -0 -r)");
    }
    return *entry;
}

} // namespace sd::pytorch
