#include "apps/cli/atomic_file.h"

#include "apps/cli/interrupt.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace cli {
namespace {

namespace fs = std::filesystem;

// A file being written. Every member is false with the cause in `cause`.
class Output {
  public:
    explicit Output(const std::string & path) : target_(path) {}
    ~Output() {
        if (fd_ >= 0) ::close(fd_);
        if (!temporary_.empty()) ::unlink(temporary_.c_str());
    }
    Output(const Output &) = delete;
    Output & operator=(const Output &) = delete;

    std::string cause;

    bool open() {
        if (!fs::path(target_).has_filename()) return fail("is no name of a file");
        const fs::path folder = fs::path(target_).parent_path();
        std::error_code problem;
        if (!folder.empty()) fs::create_directories(folder, problem);
        if (problem) return fail("its folder cannot be made: " + problem.message());
        struct stat info = {};
        const bool exists = ::stat(target_.c_str(), &info) == 0;
        if (exists && S_ISDIR(info.st_mode)) return fail("is a folder");
        if (exists && S_ISFIFO(info.st_mode)) return open_pipe();
        if (exists && !S_ISREG(info.st_mode)) {
            fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
            return fd_ >= 0 || fail_with("cannot be written", errno);
        }
        if (exists) {
            target_ = fs::canonical(target_, problem).string();
            if (problem) return fail_with("cannot be written", problem.value());
            // Replacing a file asks only for its folder's permission; one made read-only is meant to stay.
            if (::access(target_.c_str(), W_OK) != 0) return fail_with("cannot be replaced", errno);
        }
        const fs::path folder_of_target = fs::path(target_).parent_path();
        if (!open_nameless(folder_of_target) && !open_temporary(folder_of_target)) return false;
        // Not every file system has permissions; the picture matters more.
        if (exists && ::fchmod(fd_, info.st_mode & 07777) != 0) errno = 0;
        return true;
    }

    // As far as that can be known without its reader seeing an end.
    bool could_open() {
        struct stat info = {};
        if (::stat(target_.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode)) return open();
        return ::access(target_.c_str(), W_OK) == 0 || fail_with("cannot be written", errno);
    }

    bool write(const void * data, size_t bytes) {
        constexpr size_t kMost = size_t(1) << 30; // the kernel takes at most 2 GiB at once
        const char * from = static_cast<const char *>(data);
        while (bytes > 0) {
            const ssize_t done = ::write(fd_, from, std::min(bytes, kMost));
            if (done < 0 && errno == EINTR) continue;
            if (done < 0) return fail_with("cannot be written", errno);
            from += done;
            bytes -= size_t(done);
        }
        return true;
    }

    bool finish() {
        const bool direct = temporary_.empty() && !nameless_;
        // Some file systems find out only now that they are full.
        if (!direct && ::fsync(fd_) != 0) return fail_with("cannot be written", errno);
        if (nameless_ && !give_name()) return fail_with("cannot be written", errno);
        const int closed = ::close(fd_);
        fd_ = -1;
        if (closed != 0 && errno != EINTR) return fail_with("cannot be written", errno);
        if (temporary_.empty()) return true;
        if (::rename(temporary_.c_str(), target_.c_str()) != 0) return fail_with("cannot be written", errno);
        temporary_.clear();
        return true;
    }

  private:
    bool fail(const std::string & text) {
        cause = text;
        return false;
    }
    bool fail_with(const char * what, int code) {
        return fail(std::string(what) + ": " + std::strerror(code));
    }

    // Waits for somebody to read it, until a signal comes.
    bool open_pipe() {
        while ((fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0) {
            if (errno != ENXIO) return fail_with("cannot be written", errno);
            if (Interrupt::signal() != 0) return fail("is a pipe that nobody reads");
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        const int flags = ::fcntl(fd_, F_GETFL);
        return (flags >= 0 && ::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK) == 0) ||
               fail_with("cannot be written", errno);
    }

    // Distinct within this process; whoever uses it settles it with others.
    static std::string temporary_name(const fs::path & folder) {
        static std::atomic<unsigned> counter{0};
        const std::string name =
            ".unfinished-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
        return (folder / name).string();
    }

    // A file without a name is gone when the program is, however it ends. Not every file system has them.
    bool open_nameless(const fs::path & folder) {
#ifdef O_TMPFILE
        if (::access("/proc/self/fd", X_OK) != 0) return false;
        fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        nameless_ = fd_ >= 0;
#endif
        return nameless_;
    }

    // The target's, or where that exists one that takes its place.
    bool give_name() {
        const std::string self = "/proc/self/fd/" + std::to_string(fd_);
        std::string name = target_;
        while (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
            if (errno != EEXIST) return false;
            name = temporary_name(fs::path(target_).parent_path());
        }
        if (name != target_) temporary_ = name;
        return true;
    }

    bool open_temporary(const fs::path & folder) {
        do {
            temporary_ = temporary_name(folder);
            fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        } while (fd_ < 0 && errno == EEXIST);
        if (fd_ >= 0) return true;
        const int code = errno;
        temporary_.clear();
        return fail_with("cannot be written", code);
    }

    std::string target_;    // links followed
    std::string temporary_; // empty: written directly
    bool nameless_ = false; // until it is finished
    int fd_ = -1;
};

bool answer(bool good, const std::string & path, const Output & file, std::string & error) {
    if (!good) error = path + ": " + file.cause;
    return good;
}

} // namespace

bool write_file(const std::string & path, const void * data, size_t bytes, std::string & error) {
    Output file(path);
    return answer(file.open() && file.write(data, bytes) && file.finish(), path, file, error);
}

bool can_write_file(const std::string & path, std::string & error) {
    Output file(path);
    return answer(file.could_open(), path, file, error);
}

} // namespace cli
