#include "base/disk.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace sd {

int reserve_space(int fd, uint64_t bytes) {
    if (bytes == 0) return 0;
    if (bytes > uint64_t(INT64_MAX)) return EFBIG;
    if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, off_t(bytes)) == 0) return 0;
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT) return errno;
    // Anything else means that this file system cannot set space aside; it still knows how much there is.
    struct statvfs info = {};
    if (::fstatvfs(fd, &info) != 0 || info.f_frsize == 0) return 0;
    return bytes / info.f_frsize > info.f_bavail ? ENOSPC : 0;
}

void sync_folder(const std::string & folder) {
    const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

} // namespace sd
