// How many threads are worth starting.
#pragma once

namespace sd {

// Physical cores the process may run on; at least 1. Hardware threads of one core count once.
int physical_cores();

} // namespace sd
