#include "quantize/journal.h"

#include "base/log.h"
#include "quantize/digest.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sd {
namespace {

// The digit is that of the layout. Numbers are as this machine has them, since nobody moves an unfinished
// file to one of another kind.
constexpr std::string_view kMagic = "sd-cli journal 1";
constexpr size_t kNumber = sizeof(uint64_t), kHeader = kMagic.size() + 3 * kNumber;
// Of a file: entries are some ten thousand with a few bytes each.
constexpr uint64_t kMostBytes = uint64_t(1) << 28;

void put(std::string & out, uint64_t value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

uint64_t number_at(std::string_view bytes, size_t at) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// Where it lies is part of it: an entry is none in another place.
uint64_t check_of(uint64_t at, std::string_view bytes) {
    Digest digest;
    digest.number(at);
    digest.text(bytes);
    return digest.value();
}

} // namespace

void Journal::fail(int error) const {
    throw Error({"E_FILE", path_, {}, std::string("cannot be written: ") + std::strerror(error), {}});
}

Journal::Journal(const std::string & path, const JournalIdentity & identity)
    : path_(path), identity_(identity) {
    open();
    try {
        read();
    } catch (...) {
        ::close(fd_); // no destructor follows
        throw;
    }
}

Journal::~Journal() { ::close(fd_); }

void Journal::open() {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) fail(errno);
    struct stat opened = {}, named = {};
    bool taken = ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    // Whoever had it may have finished and removed it in between.
    taken = taken || ::fstat(fd_, &opened) != 0 || ::stat(path_.c_str(), &named) != 0 ||
            opened.st_ino != named.st_ino;
    if (!taken && S_ISREG(opened.st_mode)) return;
    ::close(fd_);
    throw Error({"E_FILE", path_, {}, taken ? "is in use by another program" : "is no ordinary file", {}});
}

std::string Journal::header() const {
    std::string out(kMagic);
    put(out, identity_.inputs);
    put(out, identity_.options);
    const uint64_t check = check_of(0, out);
    put(out, check);
    return out;
}

void Journal::refuse(const char * cause) {
    problem_ = Error({"E_JOURNAL", path_, {}, cause, "to begin anew, remove it and the .part beside it"});
}

void Journal::read() {
    struct stat info = {};
    if (::fstat(fd_, &info) != 0) fail(errno);
    std::string all(size_t(std::min(uint64_t(info.st_size), kMostBytes)), '\0');
    for (size_t at = 0; at < all.size();) {
        const ssize_t got = ::pread(fd_, all.data() + at, all.size() - at, off_t(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw Error({"E_FILE", path_, {}, std::string("cannot be read: ") + std::strerror(errno), {}});
        if (got == 0) all.resize(at);
        at += size_t(got);
    }
    new_ = all.empty();
    const size_t known = std::min(all.size(), kMagic.size());
    foreign_ = std::string_view(all).substr(0, known) != kMagic.substr(0, known);
    if (foreign_) return refuse("is not what this program notes there");
    if (all.size() < kHeader || uint64_t(info.st_size) > kMostBytes ||
        number_at(all, kHeader - kNumber) != check_of(0, std::string_view(all).substr(0, kHeader - kNumber)))
        return refuse("is damaged");
    if (number_at(all, kMagic.size()) != identity_.inputs)
        return refuse("is about other input files, or they have changed");
    if (number_at(all, kMagic.size() + kNumber) != identity_.options)
        return refuse("is about other options or another version of this program");
    read_entries(all);
}

// An entry is its number and the length of its data, four bytes each, the data, and the check of all that.
void Journal::read_entries(const std::string & all) {
    const std::string_view bytes = all;
    end_ = kHeader;
    while (all.size() - end_ >= 2 * kNumber) {
        uint32_t head[2];
        std::memcpy(head, all.data() + end_, sizeof head);
        const size_t length = sizeof head + head[1];
        if (all.size() - end_ < length + kNumber) break;
        if (number_at(bytes, end_ + length) != check_of(end_, bytes.substr(end_, length))) break;
        entries_.push_back({head[0], std::string(bytes.substr(end_ + sizeof head, head[1]))});
        end_ += length + kNumber;
    }
    // What a power cut leaves of the last entries is no surprise; it is told all the same.
    if (end_ < all.size())
        log_warn(printable(path_, 400) + ": is damaged after entry " + std::to_string(entries_.size()) +
                 "; what it said from there on is done again");
}

void Journal::restart() {
    entries_.clear();
    problem_.reset();
    if (::ftruncate(fd_, 0) != 0) fail(errno);
    end_ = 0;
    write(header());
}

void Journal::append(const std::vector<JournalEntry> & entries) {
    std::string out;
    for (const JournalEntry & e : entries) {
        const uint32_t head[2] = {e.number, uint32_t(e.data.size())};
        std::string one(reinterpret_cast<const char *>(head), sizeof head);
        one += e.data;
        const uint64_t check = check_of(end_ + out.size(), one);
        put(one, check);
        out += one;
    }
    // Of a damaged end, nothing may come behind what is written now.
    if (::ftruncate(fd_, off_t(end_)) != 0) fail(errno);
    write(out);
}

void Journal::write(const std::string & bytes) {
    for (size_t at = 0; at < bytes.size();) {
        const ssize_t done = ::pwrite(fd_, bytes.data() + at, bytes.size() - at, off_t(end_ + at));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail(errno);
        at += size_t(done);
    }
    if (::fdatasync(fd_) != 0) fail(errno);
    end_ += bytes.size();
}

bool Journal::has_entries() const { return end_ > kHeader; }

void Journal::remove() { ::unlink(path_.c_str()); }

} // namespace sd
