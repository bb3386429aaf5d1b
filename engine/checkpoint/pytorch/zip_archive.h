// The table of contents of a zip archive whose entries lie in it uncompressed, as torch.save writes it, with
// or without zip64. Everything the archive says about itself is checked: places and sizes against the file,
// the table against the headers in front of the data, names for being unique, and that no two entries share
// bytes. Archives in several parts, or with something before or after them, are an Error.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sd::pytorch {

struct ZipEntry {
    std::string name;
    uint16_t flags = 0;
    uint16_t method = 0; // of compression; 0: none
    uint64_t packed = 0; // bytes in the file
    uint64_t bytes = 0;
    uint64_t header = 0; // where the entry's own header starts in the file
    uint64_t data = 0;   // where its data starts

    bool is_encrypted() const { return (flags & 1) != 0; }
};

class ZipArchive {
  public:
    static ZipArchive read(const File & file);
    ZipArchive(ZipArchive &&) = default; // copies would look names up in the original

    const std::vector<ZipEntry> & entries() const { return entries_; } // as the table lists them

    const ZipEntry * find(std::string_view name) const;

    // An entry that must be there and be readable as it lies in the file.
    const ZipEntry & stored(std::string_view name) const;

  private:
    ZipArchive() = default;
    std::vector<ZipEntry> entries_;
    std::map<std::string_view, size_t> numbers_; // names are those in entries_
};

} // namespace sd::pytorch
