#include "base/output_file.h"

#include "base/disk.h"
#include "base/error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sd {
namespace {

namespace fs = std::filesystem;

constexpr size_t kGathered = size_t(256) << 10;

// Distinct for the threads of this process; O_EXCL settles it with others.
std::string temporary_name(const fs::path & folder) {
    static std::atomic<unsigned> counter{0};
    const std::string name = ".unfinished-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    return (folder / name).string();
}

} // namespace

void OutputFile::fail(const char * what, int error) const {
    throw Error({"E_FILE", path_, {}, std::string(what) + ": " + std::strerror(error), {}});
}

OutputFile::OutputFile(const std::string & path) : path_(path), target_(path) {
    if (!fs::path(path).has_filename()) throw Error({"E_FILE", path, {}, "is not the name of a file", {}});
    struct stat info = {};
    const bool exists = ::stat(path.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        throw Error({"E_FILE", path, {}, "is a folder", "name a file in it"});
    }
    if (exists && !S_ISREG(info.st_mode)) {
        fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (fd_ < 0) fail("cannot be written", errno);
        direct_ = true;
        return;
    }
    if (exists) {
        std::error_code error;
        const fs::path real = fs::canonical(path, error);
        if (error) fail("cannot be written", error.value());
        target_ = real.string();
        // Replacing a file asks only for its folder's permission; a file made read-only is meant to stay.
        if (::access(target_.c_str(), W_OK) != 0) fail("cannot be replaced", errno);
    }
    if (!open_nameless()) open_temporary();
    if (exists) ::fchmod(fd_, info.st_mode & 07777);
}

// A file without a name is gone when the program is, however it ends. Not every file system has them, and
// only /proc gives them a name later.
bool OutputFile::open_nameless() {
#ifdef O_TMPFILE
    if (::access("/proc/self/fd", X_OK) != 0) return false;
    const fs::path folder = fs::path(target_).parent_path();
    fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    nameless_ = fd_ >= 0;
#endif
    return nameless_;
}

void OutputFile::open_temporary() {
    const fs::path folder = fs::path(target_).parent_path();
    do {
        temporary_ = temporary_name(folder);
        fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ >= 0) return;
    const int error = errno;
    temporary_.clear();
    fail("cannot be written", error);
}

// The target's, or where that exists one that takes its place.
void OutputFile::give_name() {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    std::string name = target_;
    while (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
        if (errno != EEXIST) fail("cannot be written", errno);
        name = temporary_name(fs::path(target_).parent_path());
    }
    nameless_ = false;
    if (name != target_) temporary_ = name;
}

OutputFile::~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::reserve(uint64_t bytes) {
    if (direct_) return;
    if (const int error = reserve_space(fd_, bytes); error != 0) fail("cannot be written", error);
}

void OutputFile::write(const void * data, size_t bytes) {
    const auto * from = static_cast<const std::byte *>(data);
    if (bytes > kGathered - pending_.size()) flush();
    if (bytes >= kGathered) {
        write_through(from, bytes);
    } else {
        pending_.append(reinterpret_cast<const char *>(from), bytes);
    }
    written_ += bytes;
}

void OutputFile::flush() {
    write_through(reinterpret_cast<const std::byte *>(pending_.data()), pending_.size());
    pending_.clear();
}

void OutputFile::write_through(const std::byte * data, size_t bytes) {
    constexpr size_t kMost = size_t(1) << 30; // the kernel takes at most 2 GiB at once
    while (bytes > 0) {
        const ssize_t done = ::write(fd_, data, std::min(bytes, kMost));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail("cannot be written", errno);
        data += done;
        bytes -= size_t(done);
    }
}

void OutputFile::finish() {
    flush();
    // Only the disk's own answer says that data are there: some file systems find out late that they are
    // full.
    if (!direct_ && ::fsync(fd_) != 0) fail("cannot be written", errno);
    if (nameless_) give_name();
    const int closed = ::close(fd_);
    fd_ = -1;
    if (closed != 0 && errno != EINTR) fail("cannot be written", errno);
    if (direct_) return;
    if (!temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0)
        fail("cannot be written", errno);
    temporary_.clear();
    sync_folder(fs::path(target_).parent_path().string());
}

} // namespace sd
