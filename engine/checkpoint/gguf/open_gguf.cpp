#include "checkpoint/gguf/open_gguf.h"

namespace sd {

gguf_context * open_gguf(gguf_reader_callback_t read, void * self, uint64_t size, std::string & reason) {
    char text[1024];
    gguf_context * gguf =
        gguf_init_from_callback_or_reason(read, self, 0, size, {true, nullptr}, text, sizeof text);
    reason = text;
    return gguf;
}

} // namespace sd
