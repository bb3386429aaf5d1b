// Files that are read at given places by many threads, or mapped. A file that became shorter after it was
// opened is an Error, never a short result and never SIGBUS.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sd {

struct FileState;

// An open file. Copies share it; all functions may be called from several threads.
class File {
  public:
    // Regular files only (links are followed): devices, pipes and folders are refused. Throws Error.
    static File open(const std::string & path);

    // Bytes in memory under a name: for what was received otherwise than from a disk, and for tests.
    static File of_bytes(const std::string & name, std::vector<std::byte> bytes);

    const std::string & path() const; // as it was given, UTF-8
    uint64_t size() const;            // when it was opened

    // All `bytes` bytes from `offset` on, or an Error that says how much there is.
    void read(uint64_t offset, void * out, size_t bytes) const;

  private:
    friend class MappedFile;
    explicit File(std::shared_ptr<const FileState> state) : state_(std::move(state)) {}
    std::shared_ptr<const FileState> state_;
};

// A whole file as read-only memory. Pages are read when they are touched. When the file is cut short, or
// cannot be read, pages that are gone read as zeros and `damaged` says so from then on: whoever computed with
// them asks afterwards and throws the result away.
class MappedFile {
  public:
    static MappedFile map(const File & file);

    const std::byte * data() const;
    uint64_t size() const;
    bool damaged() const;

    // The Error `damaged` stands for. Does nothing for a sound file.
    void check() const;

    // Advice to the system about [offset, offset + bytes): read ahead, or drop from the page cache.
    void will_need(uint64_t offset, uint64_t bytes) const;
    // Waits until the pages are there, so that whoever uses them does not; ends early when `stop` is set.
    void touch(uint64_t offset, uint64_t bytes, const std::atomic<bool> * stop) const;
    void drop(uint64_t offset, uint64_t bytes) const;

  private:
    struct State;
    explicit MappedFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

} // namespace sd
