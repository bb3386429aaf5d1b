// An output that is written at many places at once, and there whole or not at all: it grows as OUTPUT.part,
// with a journal of what is done in OUTPUT.part.journal, and takes the output's name at the end.
#pragma once

#include "quantize/done_notes.h"
#include "quantize/journal.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sd {

// Before hours of work: the Errors about outputs that a PartFile would throw.
void check_output(const std::string & output, bool replace);

class PartFile {
  public:
    // Makes OUTPUT.part, in which `bytes` bytes must fit, or goes on with one whose journal has this
    // identity. An output that exists is refused unless `replace`; so are outputs that are no ordinary file,
    // a part without journal, which may be anybody's, and a journal that does not fit. A link is followed:
    // the file it points to is replaced, with its permissions kept. Throws Error, as all functions.
    PartFile(const std::string & output, bool replace, uint64_t bytes, const JournalIdentity & identity);
    ~PartFile(); // neither finished nor kept: nothing stays behind
    PartFile(const PartFile &) = delete;
    PartFile & operator=(const PartFile &) = delete;

    const std::string & path() const { return finished_ ? target_ : part_; } // of what is written

    // What is done already; their numbers are below kLastNumber.
    const std::vector<JournalEntry> & found() const { return found_; }
    // All of it is, under the output's name: only the journal is still there.
    bool is_finished() const { return finished_; }

    // From any thread.
    void write_at(uint64_t offset, const void * data, size_t bytes) const;

    // From any thread: all that belongs to the entry, `bytes` bytes, is written.
    void done(JournalEntry entry, uint64_t bytes);

    // Part and journal stay for another try, with all that is done; where nothing is, nothing stays.
    void keep();
    bool is_kept() const { return kept_; }
    const std::string & journal_path() const { return journal_->path(); }

    // Under the output's name, on the disk.
    void finish();

    static constexpr uint32_t kLastNumber = UINT32_MAX;

  private:
    PartFile() = default;
    void find_target(const std::string & output, bool replace);
    bool was_finished(uint64_t bytes) const;
    void make_part(uint64_t bytes);
    bool take_part(uint64_t bytes);
    void sync() const;
    JournalEntry last_entry() const;
    [[noreturn]] void fail(int error) const;

    std::string output_; // as given, for messages
    std::string target_; // links followed
    std::string part_;
    unsigned mode_ = 0; // permissions of the file that is replaced; 0: there is none
    std::unique_ptr<Journal> journal_;
    std::unique_ptr<DoneNotes> notes_;
    std::vector<JournalEntry> found_;
    int fd_ = -1;
    bool owned_ = false; // part and journal are this object's to remove
    bool kept_ = false, finished_ = false;
};

} // namespace sd
