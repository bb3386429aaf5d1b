#include "tools/op-bench/options.h"

#include "tools/op-bench/failure.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <thread>

namespace op_bench {
namespace {

constexpr int kMostThreads = 1024;
constexpr double kMostSeconds = 86400;

// One line, whatever the parser's own message has.
std::string first_line(const std::string & text) { return text.substr(0, text.find('\n')); }

void check(const Settings & s) {
    if (!std::isfinite(s.budget) || s.budget < 0 || s.budget > kMostSeconds)
        throw Failure("--time is a number of seconds from 0 to 86400");
    if (s.n_threads < 1 || s.n_threads > kMostThreads) throw Failure("--threads is a number from 1 to 1024");
    if (!s.shapes.empty() && s.ops.size() != 1)
        throw Failure("--shape needs one --op, whose parameters it names");
    if (!s.shapes.empty() && !s.explain_file.empty()) throw Failure("--shape and --from exclude each other");
}

} // namespace

std::optional<Settings> parse_options(std::vector<std::string> args, std::string & help) {
    Settings s;
    s.n_threads = std::clamp(int(std::thread::hardware_concurrency()), 1, kMostThreads);
    CLI::App app("Times every implementation of an operator on this machine's CPU.", "op-bench");
    app.add_option("--op", s.ops, "operators; all without it")->type_name("NAME")->allow_extra_args(false);
    app.add_option("--shape", s.shapes, "a size to measure, for example m=1024,k=6144; can be repeated")
        ->type_name("NAME=VALUE,...")
        ->allow_extra_args(false);
    app.add_option("--kernel", s.kernels, "only this implementation, for example native; all without it")
        ->type_name("NAME")
        ->allow_extra_args(false);
    app.add_option("--from", s.explain_file, "measure the nodes of an explain document in JSON")
        ->type_name("FILE");
    app.add_option("--threads", s.n_threads, "threads; one for each processor without it");
    app.add_option("--time", s.budget, "seconds for each implementation; 0: a single run")
        ->capture_default_str();
    app.add_option("--json", s.json_file, "also write the results here")->type_name("FILE");
    app.add_flag("--verify", s.verify, "compare each with the reference first; ends with 1 when one differs");
    app.add_flag("--list", s.list, "show operators, parameters and implementations");
    std::reverse(args.begin(), args.end()); // as CLI11 takes vectors
    try {
        app.parse(args);
    } catch (const CLI::CallForHelp &) {
        help = app.help();
        return std::nullopt;
    } catch (const CLI::ParseError & error) {
        throw Failure(first_line(error.what()) + " (op-bench --help)");
    }
    std::erase(s.kernels, "all");
    check(s);
    return s;
}

} // namespace op_bench
