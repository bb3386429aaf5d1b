#include "apps/cli/console.h"
#include "apps/cli/modes.h"
#include "stable-diffusion.h"

namespace cli {

int run_list_devices() {
    // One more for the zero at the end.
    std::string text(sd_list_devices(nullptr, 0) + 1, '\0');
    text.resize(sd_list_devices(text.data(), text.size()));
    return print_result(text) ? 0 : 1;
}

} // namespace cli
