// Files that were opened for reading, so that nothing is written over them. A file is known by what it is,
// not by its name: symbolic and hard links to it are the same file.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sd {

class ReadFiles {
  public:
    // While one exists, every File that this thread opens is added. One at a time for a thread; the list must
    // live longer.
    class Recording {
      public:
        explicit Recording(ReadFiles & files);
        ~Recording();
        Recording(const Recording &) = delete;
        Recording & operator=(const Recording &) = delete;
    };

    // One that does not exist is not added.
    void add(const std::string & path);

    bool has(const std::string & path) const;

    // As they were given, each path once.
    const std::vector<std::string> & paths() const { return paths_; }

    // Throws Error when the output is one of them.
    void refuse(const std::string & output) const;

  private:
    std::vector<std::string> paths_;
    std::vector<std::pair<unsigned long long, unsigned long long>> identities_; // device, inode
};

// For File: one was opened by this thread.
void note_opened(const std::string & path);

// Whether two names would be one file if both were written; devices and pipes may have many writers.
bool same_output(const std::string & a, const std::string & b);

} // namespace sd
