// What is done of long work, in a file beside its result: a program that is ended or loses its power goes on
// from there. Entries are whole or do not count, whatever moment the end came at.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sd {

// Digests of what the work is about. A journal counts for the same ones only.
struct JournalIdentity {
    uint64_t inputs = 0;  // the files that are read
    uint64_t options = 0; // what is made of them
};

struct JournalEntry {
    uint32_t number; // the owner's, as the data
    std::string data;
};

// Functions throw Error naming the file.
class Journal {
  public:
    // Opens the file, or makes an empty one, for this process alone: an Error when another one has it.
    Journal(const std::string & path, const JournalIdentity & identity);
    ~Journal(); // the file stays
    Journal(const Journal &) = delete;
    Journal & operator=(const Journal &) = delete;

    const std::string & path() const { return path_; }

    // Why the file cannot be gone on with: damaged at its beginning, of other inputs, of other options.
    // Then, and for a new one, restart comes before append.
    const std::optional<Error> & problem() const { return problem_; }
    // There was none, or an empty one.
    bool is_new() const { return new_; }
    // It is no file of this kind, and may be anybody's.
    bool is_foreign() const { return foreign_; }

    // What it held when it was opened. Entries behind a damaged one do not count: their work is done again.
    const std::vector<JournalEntry> & entries() const { return entries_; }

    // No entries, and this identity, on the disk.
    void restart();
    // On the disk when this returns. One thread at a time.
    void append(const std::vector<JournalEntry> & entries);
    bool has_entries() const;
    // The file is gone, if it can be.
    void remove();

  private:
    void open();
    void read();
    void read_entries(const std::string & all);
    void write(const std::string & bytes);
    std::string header() const;
    void refuse(const char * cause);
    [[noreturn]] void fail(int error) const;

    std::string path_;
    JournalIdentity identity_;
    int fd_ = -1;
    uint64_t end_ = 0; // of what counts
    bool new_ = false, foreign_ = false;
    std::optional<Error> problem_;
    std::vector<JournalEntry> entries_;
};

} // namespace sd
