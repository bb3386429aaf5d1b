#include "base/physical_cores.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#if defined(__linux__)
#    include <sched.h>
#endif

namespace sd {

int physical_cores() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        // Threads of one core have the same list of siblings.
        std::set<std::string> cores;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (!CPU_ISSET(cpu, &allowed)) continue;
            std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                               "/topology/thread_siblings_list");
            std::string siblings;
            if (!std::getline(file, siblings)) siblings = "cpu" + std::to_string(cpu);
            cores.insert(siblings);
        }
        return std::max(1, int(cores.size()));
    }
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace sd
