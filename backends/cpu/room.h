// Memory for code that cannot bear its absence. oneDNN 2.6 generates code into memory it does not check, and
// libgomp ends the process when it cannot start a thread; so they are only called when there is enough.
#pragma once

#include "backends/cpu/team.h"

#include <cstddef>

namespace ggml::cpu {

// Above what oneDNN takes at a time for code and tables, the first product of a process included.
inline constexpr size_t kLibraryRoom = size_t(24) << 20;

// Whether the process could have `bytes` more. True without looking where it is never denied memory, which is
// the usual case: without a limit on addresses Linux promises everything and a null pointer does not come.
bool has_room(size_t bytes = kLibraryRoom);

// Starts the team's threads, and gives each its heap, if there is room for that and for a library after it.
// From the driving thread, before the first section. Nothing happens where has_room does not look.
bool has_room_to_start(const Team & team);

// Logs that there is none for `what`, and is GGML_STATUS_ALLOC_FAILED.
ggml_status report_no_room(const char * what);

} // namespace ggml::cpu
