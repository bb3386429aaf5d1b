// sd-cli: the engine on the command line.
#include "apps/cli/arguments.h"
#include "apps/cli/console.h"
#include "apps/cli/modes.h"
#include "apps/cli/surroundings.h"
#include "apps/cli/waiting.h"
#include "apps/cli/without_effect.h"

#include <exception>
#include <new>

namespace {

int run(int argc, char ** argv) {
    cli::Arguments arguments;
    int exit_status = 0;
    if (!cli::parse(argc, argv, arguments, exit_status)) return exit_status;
    cli::show_log(arguments.verbose, arguments.color);
    // Of a generation, what has an effect is known when the model's file has been read.
    if (arguments.mode != cli::Mode::img_gen || arguments.list_devices) {
        for (const std::string & line : cli::without_effect(arguments)) cli::print_warning(line);
    }
    if (arguments.list_devices) return cli::run_list_devices();
    switch (arguments.mode) {
    case cli::Mode::img_gen: return cli::run_generate(arguments);
    case cli::Mode::inspect: return cli::run_inspect(arguments);
    case cli::Mode::convert: return cli::run_convert(arguments);
    case cli::Mode::quantize: return cli::run_quantize(arguments);
    case cli::Mode::compare: return cli::run_compare(arguments);
    case cli::Mode::metadata: return cli::run_metadata(arguments);
    }
    return 1;
}

} // namespace

int main(int argc, char ** argv) {
    cli::limit_spinning(argv);
    cli::settle_surroundings();
    try {
        return run(argc, argv);
    } catch (const std::bad_alloc &) {
        cli::print_error("memory ran out");
    } catch (const std::exception & e) {
        cli::print_error(e.what());
    }
    return 1;
}
