#include "tools/op-bench/memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace op_bench {
namespace {

std::optional<uint64_t> number_in(const char * path) {
    std::ifstream file(path);
    uint64_t value = 0;
    return file >> value ? std::optional(value) : std::nullopt; // "max" is none
}

std::optional<uint64_t> system_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    for (uint64_t kilobytes = 0; file >> name >> kilobytes && std::getline(file, unit);) {
        if (name == "MemAvailable:") return kilobytes * 1024;
    }
    return std::nullopt;
}

} // namespace

uint64_t available_memory() {
    uint64_t least = system_memory().value_or(UINT64_MAX);
    const auto limit = number_in("/sys/fs/cgroup/memory.max");
    const auto used = number_in("/sys/fs/cgroup/memory.current");
    if (limit && used) least = std::min(least, *limit - std::min(*limit, *used));
    return least;
}

} // namespace op_bench
