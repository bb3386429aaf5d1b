// Notes in a journal, each on the disk after the data it speaks of. A thread of its own waits for the disk.
#pragma once

#include "quantize/journal.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sd {

class DoneNotes {
  public:
    // sync: all that was written is on the disk when it returns. Both must live longer.
    DoneNotes(Journal & journal, std::function<void()> sync);
    ~DoneNotes(); // what is not flushed is lost
    DoneNotes(const DoneNotes &) = delete;
    DoneNotes & operator=(const DoneNotes &) = delete;

    // From any thread, when the data of the entry, `bytes` of them, are written. Noted within a second or so,
    // or with as many bytes as are worth a wait for the disk. Throws what noting earlier ones threw.
    void add(JournalEntry entry, uint64_t bytes);

    // All that was added is noted when this returns.
    void flush();

  private:
    void run();
    void rethrow() const;

    Journal & journal_;
    std::function<void()> sync_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<JournalEntry> waiting_;
    uint64_t bytes_ = 0; // of waiting_
    bool busy_ = false;  // with entries that are no longer in waiting_
    bool hurry_ = false, end_ = false;
    std::exception_ptr failure_;
    std::thread thread_; // last: it uses the others
};

} // namespace sd
