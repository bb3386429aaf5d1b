#include "quantize/part_file.h"

#include "base/disk.h"
#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sd {
namespace {

namespace fs = std::filesystem;

Error file_error(const std::string & path, const std::string & cause, const std::string & advice = {}) {
    return Error({"E_FILE", path, {}, cause, advice});
}

bool exists(const std::string & path) {
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0;
}

// The permissions of the file that is replaced; 0: there is none.
mode_t check_target(const std::string & output, bool replace) {
    if (!fs::path(output).has_filename()) throw file_error(output, "is not the name of a file");
    struct stat info = {};
    if (::stat(output.c_str(), &info) != 0) return 0;
    if (S_ISDIR(info.st_mode)) throw file_error(output, "is a folder", "name a file in it");
    if (!S_ISREG(info.st_mode)) throw file_error(output, "is no ordinary file", "choose another output");
    if (!replace) throw file_error(output, "exists already", "--force replaces it");
    return info.st_mode & 07777;
}

} // namespace

void check_output(const std::string & output, bool replace) {
    std::error_code none;
    const fs::path real = fs::canonical(output, none);
    const std::string part = (none ? output : real.string()) + ".part";
    // What a journal is about is seen when it is opened.
    if (exists(part + ".journal")) return;
    check_target(output, replace);
    if (exists(part))
        throw file_error(part, "exists already", "is it of use? remove it or choose another output");
    const std::string folder = fs::path(part).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
        throw file_error(output, std::string("cannot be written: ") + std::strerror(errno));
}

void PartFile::fail(int error) const {
    throw file_error(output_, std::string("cannot be written: ") + std::strerror(error));
}

PartFile::PartFile(const std::string & output, bool replace, uint64_t bytes, const JournalIdentity & identity)
    : PartFile() { // from here on the destructor follows
    output_ = target_ = output;
    std::error_code none;
    if (const fs::path real = fs::canonical(output, none); !none) target_ = real.string();
    part_ = target_ + ".part";
    const std::string notes = part_ + ".journal";
    const bool has_part = exists(part_), has_journal = exists(notes);
    if (has_journal) journal_ = std::make_unique<Journal>(notes, identity);
    if (!has_part && has_journal && was_finished(bytes)) {
        finished_ = owned_ = true;
        found_.assign(journal_->entries().begin(), journal_->entries().end() - 1);
        return;
    }
    find_target(output, replace);
    const std::string folder = fs::path(target_).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) fail(errno);
    if (has_part && !has_journal)
        throw file_error(part_, "exists already", "is it of use? remove it or choose another output");
    // A journal alone is worth nothing, unless it is something else.
    if (has_journal && journal_->problem() && (has_part || journal_->is_foreign()))
        throw *journal_->problem();
    if (has_part && take_part(bytes)) {
        found_ = journal_->entries();
    } else {
        if (journal_ == nullptr) journal_ = std::make_unique<Journal>(notes, identity);
        owned_ = true;
        journal_->restart();
        sync_folder(folder); // a part without its journal would be nobody's
        make_part(bytes);
    }
    owned_ = true;
    sync_folder(folder);
    notes_ = std::make_unique<DoneNotes>(*journal_, [this] { sync(); });
}

void PartFile::find_target(const std::string & output, bool replace) {
    mode_ = check_target(output, replace);
    // Replacing a file asks only for its folder's permission; one made read-only is meant to stay.
    if (mode_ != 0 && ::access(target_.c_str(), W_OK) != 0) fail(errno);
}

// The name is the last thing a part gets: the inode tells that the output is what the part was.
bool PartFile::was_finished(uint64_t bytes) const {
    if (journal_->problem() || journal_->entries().empty()) return false;
    const JournalEntry & last = journal_->entries().back();
    struct stat info = {};
    return last.number == kLastNumber && ::stat(target_.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           uint64_t(info.st_size) == bytes && last.data == std::to_string(info.st_ino);
}

// The part of an earlier run; false: it had not come far enough to have its size.
bool PartFile::take_part(uint64_t bytes) {
    fd_ = ::open(part_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat info = {};
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) fail(errno);
    if (S_ISREG(info.st_mode) && uint64_t(info.st_size) == bytes) return true;
    if (!S_ISREG(info.st_mode) || info.st_size != 0 || !journal_->entries().empty())
        throw file_error(part_, "is not the file that its journal speaks of",
                         "to begin anew, remove it and " + journal_->path());
    ::close(fd_);
    fd_ = -1;
    if (::unlink(part_.c_str()) != 0) fail(errno);
    return false;
}

void PartFile::make_part(uint64_t bytes) {
    fd_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) fail(errno);
    if (const int error = reserve_space(fd_, bytes); error != 0) fail(error);
    if (mode_ != 0 && ::fchmod(fd_, mode_t(mode_)) != 0) fail(errno);
    // Last: a part of this size is ready to be written.
    if (::ftruncate(fd_, off_t(bytes)) != 0) fail(errno);
}

PartFile::~PartFile() {
    notes_.reset();
    if (fd_ >= 0) ::close(fd_);
    if (!owned_ || kept_ || finished_) return;
    ::unlink(part_.c_str());
    journal_->remove();
}

void PartFile::write_at(uint64_t offset, const void * data, size_t bytes) const {
    constexpr size_t kMost = size_t(1) << 30; // the kernel takes at most 2 GiB at once
    const auto * from = static_cast<const std::byte *>(data);
    while (bytes > 0) {
        const ssize_t done = ::pwrite(fd_, from, std::min(bytes, kMost), off_t(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail(errno);
        from += done;
        offset += uint64_t(done);
        bytes -= size_t(done);
    }
}

void PartFile::done(JournalEntry entry, uint64_t bytes) { notes_->add(std::move(entry), bytes); }

void PartFile::sync() const {
    // Only the disk's own answer says that data are there: some file systems find out late that they are
    // full.
    if (::fdatasync(fd_) != 0) fail(errno);
}

void PartFile::keep() {
    if (finished_) return;
    notes_->flush();
    kept_ = journal_->has_entries();
}

JournalEntry PartFile::last_entry() const {
    struct stat info = {};
    if (::fstat(fd_, &info) != 0) fail(errno);
    return {kLastNumber, std::to_string(info.st_ino)};
}

void PartFile::finish() {
    if (!finished_) {
        notes_->flush();
        notes_.reset();
        if (::fsync(fd_) != 0) fail(errno);
        journal_->append({last_entry()});
        const int closed = ::close(fd_);
        fd_ = -1;
        if (closed != 0 && errno != EINTR) fail(errno);
        if (::rename(part_.c_str(), target_.c_str()) != 0) fail(errno);
        finished_ = true;
        sync_folder(fs::path(target_).parent_path().string());
    }
    journal_->remove();
}

} // namespace sd
