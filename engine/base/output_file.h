// A file that is there whole or not at all. It grows in the target's folder without a name, or where the file
// system has no such files under a name of its own, and takes the target's name when it is finished; a
// program that fails or is killed leaves the old target as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sd {

// One thread at a time. All functions throw Error naming the target; afterwards only the destructor may
// follow.
class OutputFile {
  public:
    // The target's folder must exist. A link is followed: the file it points to is replaced, not the link. A
    // target that is a device or a pipe is written directly. The permissions of a target that exists are
    // kept.
    explicit OutputFile(const std::string & path);
    ~OutputFile(); // not finished: nothing stays behind
    OutputFile(const OutputFile &) = delete;
    OutputFile & operator=(const OutputFile &) = delete;

    // Makes sure that `bytes` bytes in all will fit, where the file system can say so: an Error now and not
    // after an hour of writing.
    void reserve(uint64_t bytes);

    // Appends. Small pieces are gathered.
    void write(const void * data, size_t bytes);

    uint64_t written() const { return written_; }

    // Everything is on the disk under the target's name when this returns.
    void finish();

  private:
    bool open_nameless();
    void open_temporary();
    void give_name();
    void flush();
    void write_through(const std::byte * data, size_t bytes);
    [[noreturn]] void fail(const char * what, int error) const;

    std::string path_;      // as given, for messages
    std::string target_;    // links followed
    std::string temporary_; // its name until it is finished; empty: none
    bool direct_ = false;   // a device or a pipe
    bool nameless_ = false;
    int fd_ = -1;
    uint64_t written_ = 0;
    std::string pending_;
};

} // namespace sd
