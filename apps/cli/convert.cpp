#include "apps/cli/console.h"
#include "apps/cli/modes.h"
#include "stable-diffusion.h"

#include <csignal>
#include <string_view>

namespace cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

bool progress(const char * what, uint64_t done, uint64_t total, void * data) {
    static_cast<Progress *>(data)->show(what, done, total, Unit::bytes);
    return interrupted == 0;
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
    // The unfinished file goes away however a user ends the program.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_interrupt);
    Progress bar;
    const bool written = sd_convert(&p, progress, &bar);
    bar.end();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
    if (written) return 0;
    print_error(sd_last_error());
    return std::string_view(sd_last_error_code()) == "E_CANCELLED" ? 130 : 1;
}

} // namespace cli
