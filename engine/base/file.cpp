#include "base/file.h"

#include "base/error.h"
#include "base/file_state.h"
#include "base/read_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace sd {
namespace {

[[noreturn]] void fail(const std::string & path, std::string cause, std::string advice = {}) {
    throw Error({"E_FILE", path, {}, std::move(cause), std::move(advice)});
}

} // namespace

FileState::~FileState() {
    if (fd >= 0) ::close(fd);
}

File File::open(const std::string & path) {
    // Not blocking, so that opening a pipe nobody writes to comes back and is refused below.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) fail(path, std::strerror(errno));
    auto state = std::make_shared<FileState>();
    state->fd = fd;
    state->path = path;
    struct stat info = {};
    if (::fstat(fd, &info) != 0) fail(path, std::strerror(errno));
    if (S_ISDIR(info.st_mode)) fail(path, "is a folder", "name a file in it");
    if (!S_ISREG(info.st_mode)) fail(path, "is not a regular file");
    state->size = uint64_t(info.st_size);
    note_opened(path);
    return File(std::move(state));
}

File File::of_bytes(const std::string & name, std::vector<std::byte> bytes) {
    auto state = std::make_shared<FileState>();
    state->path = name;
    state->size = bytes.size();
    state->bytes = std::move(bytes);
    return File(std::move(state));
}

const std::string & File::path() const { return state_->path; }
uint64_t File::size() const { return state_->size; }

void File::read(uint64_t offset, void * out, size_t bytes) const {
    if (offset > size() || bytes > size() - offset) {
        fail(path(),
             "ends at byte " + std::to_string(size()) + ", but " + std::to_string(bytes) +
                 " bytes from byte " + std::to_string(offset) + " on are needed",
             "the file is incomplete: fetch it again");
    }
    if (state_->fd < 0) {
        if (bytes > 0) std::memcpy(out, state_->bytes.data() + offset, bytes);
        return;
    }
    auto * to = static_cast<std::byte *>(out);
    // The kernel reads at most 2 GiB at once.
    constexpr size_t kMost = size_t(1) << 30;
    for (size_t done = 0; done < bytes;) {
        const ssize_t got =
            ::pread(state_->fd, to + done, std::min(bytes - done, kMost), off_t(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(path(), std::string("cannot be read: ") + std::strerror(errno));
        if (got == 0) {
            fail(path(), "became shorter while it was read: byte " + std::to_string(offset + done) + " of " +
                             std::to_string(size()) + " is gone");
        }
        done += size_t(got);
    }
}

} // namespace sd
