// Ctrl-C, and its likes when a terminal goes away or a system shuts down.
#pragma once

#include "stable-diffusion.h"

namespace cli {

// While one exists, the first signal stops the context's generation soon, and the second one the program at
// once. Signals that were ignored when the program began stay so. One at a time; the context must live
// longer.
class Interrupt {
  public:
    // NULL: work that looks at signal() now and then.
    explicit Interrupt(sd_ctx_t * ctx);
    ~Interrupt();
    Interrupt(const Interrupt &) = delete;
    Interrupt & operator=(const Interrupt &) = delete;

    // The signal that came since the last one began; 0: none.
    static int signal();

    // The exit status it leads to, as shells report it.
    static int exit_status();
};

} // namespace cli
