#include "backends/cpu/room.h"

#include "runtime/base/log.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace ggml::cpu {
namespace {

// Where the kernel counts promises and keeps all of them.
bool strict_accounting() {
    static const bool strict = [] {
        std::ifstream file("/proc/sys/vm/overcommit_memory");
        int mode = 0;
        return file >> mode && mode == 2;
    }();
    return strict;
}

bool is_limited(__rlimit_resource resource) {
    rlimit limit = {};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Asked each time, because a program may set its limits late; it is a fraction of a microsecond.
bool can_run_out() { return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA) || strict_accounting(); }

// A thread's first allocation makes its heap, for which the C library reserves 64 MiB where it can: after a
// look at what is left that would make it untrue. volatile: compilers know that nobody needs this memory.
void make_heap() {
    thread_local bool made = false;
    if (made) return;
    made = true;
    void * volatile some = std::malloc(64);
    std::free(some);
}

size_t stack_bytes() {
    constexpr size_t kUsual = size_t(8) << 20;
    rlimit limit = {};
    const bool known = ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? size_t(limit.rlim_cur) : kUsual;
}

} // namespace

bool has_room(size_t bytes) {
    if (!can_run_out()) return true;
    make_heap();
    // Untouched, so that this costs no memory, and private and writable, so that it counts for every limit.
    void * memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    ::munmap(memory, bytes);
    return true;
}

bool has_room_to_start(const Team & team) {
    if (!can_run_out()) return true;
    thread_local int started = 1; // libgomp keeps threads for each thread that drives some
    const auto more = size_t(std::max(team.n_threads() - started, 0));
    if (!has_room(kLibraryRoom + more * stack_bytes())) return false;
    team.run(team.n_threads(), [](int, int) { make_heap(); });
    started = std::max(started, team.n_threads());
    return true;
}

ggml_status report_no_room(const char * what) {
    GGML_LOG_ERROR("CPU: no memory is left for %s\n", what);
    return GGML_STATUS_ALLOC_FAILED;
}

} // namespace ggml::cpu
