#include "apps/cli/console.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/modes.h"
#include "stable-diffusion.h"

#include <string_view>

namespace cli {
namespace {

bool progress(const char * what, uint64_t done, uint64_t total, void * data) {
    static_cast<Progress *>(data)->show(what, done, total, Unit::bytes);
    return Interrupt::signal() == 0;
}

} // namespace

int run_convert(const Arguments & a) {
    sd_convert_params_t p;
    sd_convert_params_init(&p);
    p.files = {a.model.c_str(), a.diffusion_model.c_str(), a.llm.c_str(), a.vae.c_str()};
    p.output = a.output.c_str();
    p.wtype = a.type.c_str();
    p.tensor_type_rules = a.tensor_type_rules.c_str();
    p.n_threads = a.threads;
    p.assume_int8_group = a.assume_int8_group;
    const Interrupt interrupt(nullptr);
    Progress bar;
    const bool written = sd_convert(&p, progress, &bar);
    bar.end();
    if (written) return 0;
    print_error(sd_last_error());
    return std::string_view(sd_last_error_code()) == "E_CANCELLED" ? Interrupt::exit_status() : 1;
}

} // namespace cli
