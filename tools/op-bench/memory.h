// How much memory there is to take.
#pragma once

#include <cstdint>

namespace op_bench {

// What the system can give without swapping, and the limit of the control group this process is in, whichever
// is less. The largest number where neither says.
uint64_t available_memory();

} // namespace op_bench
