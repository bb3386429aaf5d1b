#include "apps/cli/waiting.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace cli {

void limit_spinning(char ** arguments) {
    if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
    // By its own name: started as /proc/self/exe, it would be listed as "exe".
    std::error_code problem;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
    // Run by the dynamic loader as a command, that is what would be started.
    if (program.filename().string().starts_with("ld-")) return;
    // Without the setting in place, it would start itself again and again.
    if (problem || ::setenv("GOMP_SPINCOUNT", "1000", 0) != 0) return;
    ::execv(program.c_str(), arguments);
}

} // namespace cli
