// How much memory this process has and can still take.
#pragma once

#include <cstdint>

namespace sd {

// Bytes, of the system and of the control group the process is in, within a limit of its own; the largest
// number when nobody says.
uint64_t available_memory();

// Bytes of this process in memory, pages of mapped files that it has touched included; 0 when nobody says.
uint64_t resident_memory();

// Gives the system back what the C library keeps of memory that was freed, where it can.
void give_back_freed_memory();

} // namespace sd
