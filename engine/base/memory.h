// How much memory this process has and can still take.
#pragma once

#include <cstdint>

namespace sd {

// Bytes, of the system and of the control group the process is in, within a limit of its own; the largest
// number when nobody says.
uint64_t available_memory();

// Bytes of this process in memory, pages of mapped files that it has touched included; 0 when nobody says.
uint64_t resident_memory();

} // namespace sd
