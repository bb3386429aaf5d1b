// The ggml library's GGUF reader, with the reason when it refuses a file.
#pragma once

#include "gguf.h"

#include <cstdint>
#include <string>

namespace sd {

// The metadata of `size` bytes that `read` gives; the caller frees it. NULL: `reason` is "gguf.ID: one line".
gguf_context * open_gguf(gguf_reader_callback_t read, void * self, uint64_t size, std::string & reason);

} // namespace sd
