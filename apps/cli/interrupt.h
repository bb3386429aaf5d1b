// Ctrl-C, and its likes when a terminal goes away or a system shuts down.
#pragma once

#include "stable-diffusion.h"

namespace cli {

// While one exists, the first signal stops the context's generation soon, and the second one the program at
// once. One at a time; the context must live longer.
class Interrupt {
  public:
    explicit Interrupt(sd_ctx_t * ctx);
    ~Interrupt();
    Interrupt(const Interrupt &) = delete;
    Interrupt & operator=(const Interrupt &) = delete;

    // The signal that came; 0: none.
    static int signal();
};

} // namespace cli
