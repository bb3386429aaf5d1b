#include "base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>

#ifdef __GLIBC__
#    include <malloc.h>
#endif

namespace sd {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

uint64_t number_in(const char * path) {
    std::ifstream file(path);
    uint64_t value = 0;
    return file >> value ? value : kUnknown;
}

// What is left of the addresses the process may use (ulimit -v).
uint64_t addresses_left() {
    rlimit limit = {};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
    const uint64_t pages = number_in("/proc/self/statm"); // its first number: those in use
    if (pages == kUnknown) return kUnknown;
    return limit.rlim_cur - std::min<uint64_t>(limit.rlim_cur, pages * uint64_t(::sysconf(_SC_PAGESIZE)));
}

// "MemAvailable:   12345 kB"
uint64_t machine_memory() {
    std::ifstream file("/proc/meminfo");
    for (std::string name, unit; file >> name;) {
        uint64_t value = 0;
        if (name == "MemAvailable:" && file >> value) return value * 1024;
        std::getline(file, unit);
    }
    return kUnknown;
}

uint64_t system_memory() { return std::min(machine_memory(), addresses_left()); }

// What the group's memory holds of files: it is counted as used and given up when needed.
uint64_t reclaimable() {
    std::ifstream file("/sys/fs/cgroup/memory.stat");
    uint64_t sum = 0, value = 0;
    for (std::string name; file >> name >> value;) {
        if (name == "active_file" || name == "inactive_file") sum += value;
    }
    return sum;
}

} // namespace

uint64_t available_memory() {
    // "max" is no number and means no limit.
    const uint64_t limit = number_in("/sys/fs/cgroup/memory.max"),
                   used = number_in("/sys/fs/cgroup/memory.current");
    if (limit == kUnknown || used == kUnknown) return system_memory();
    const uint64_t kept = used - std::min(used, reclaimable());
    return std::min(system_memory(), limit - std::min(limit, kept));
}

uint64_t resident_memory() {
    std::ifstream file("/proc/self/statm");
    uint64_t all = 0, resident = 0;
    return file >> all >> resident ? resident * uint64_t(::sysconf(_SC_PAGESIZE)) : 0;
}

void give_back_freed_memory() {
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
}

} // namespace sd
