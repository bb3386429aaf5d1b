#include "apps/cli/surroundings.h"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace cli {

void settle_surroundings() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) >= 0) continue;
        // The lowest free number is the stream's. For reading only: a result nobody gets is an error.
        if (::open("/dev/null", O_RDONLY) != stream) return;
    }
}

} // namespace cli
