// Sizes of files and memory as people read them, everywhere in the engine alike.
#pragma once

#include <cstdint>
#include <string>

namespace sd {

// "11.94 GiB", "512.00 MiB", "17 bytes": units of 1024, since memory comes in them.
std::string size_text(uint64_t bytes);

} // namespace sd
