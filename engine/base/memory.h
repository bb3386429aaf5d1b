// How much memory this process can still take.
#pragma once

#include <cstdint>

namespace sd {

// Bytes, of the system and of the control group the process is in, within a limit of its own; the largest
// number when nobody says.
uint64_t available_memory();

} // namespace sd
