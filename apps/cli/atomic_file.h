// Files that are there whole or not at all: they are written under a name of their own in the target's
// folder, which then becomes the target. Folders on the way are made.
#pragma once

#include <cstddef>
#include <string>

namespace cli {

// A link is followed, permissions of a file that is replaced are kept, devices and pipes are written
// directly; a pipe waits for somebody to read it, until a signal comes. On the disk when this returns true.
// False with "FILE: cause" in `error`; then nothing has changed.
bool write_file(const std::string & path, const void * data, size_t bytes, std::string & error);

// Whether that could begin now. Leaves nothing behind but the folders.
bool can_write_file(const std::string & path, std::string & error);

} // namespace cli
