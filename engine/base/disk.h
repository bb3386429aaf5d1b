// What files that are made need of the disk beneath them.
#pragma once

#include <cstdint>
#include <string>

namespace sd {

// Sets space aside for `bytes` bytes of an open file, or asks whether there is so much, where the file system
// can say so. 0, or the errno of what speaks against it.
int reserve_space(int fd, uint64_t bytes);

// So that new names in the folder survive a power cut; "" is the current one. Not every file system offers
// it; the files themselves are safe.
void sync_folder(const std::string & folder);

} // namespace sd
