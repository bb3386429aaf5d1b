// op-bench: how fast is each implementation of an operator, and how far from what the machine can do?
#include "tools/op-bench/failure.h"
#include "tools/op-bench/options.h"
#include "tools/op-bench/report.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>

namespace op_bench {
namespace {

constexpr int kWrong = 1, kNotUnderstood = 2, kInterrupted = 130;

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

// The second time the system's own reaction ends the program at once.
void interrupt(int) {
    stop = true;
    std::signal(SIGINT, SIG_DFL);
}

void print(const std::string & text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

void write_json(const std::string & text, const std::string & path) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw Failure(path + ": cannot be written");
}

// Now, and not when everything has been measured.
void require_writable(const std::string & path) {
    if (!path.empty() && !std::ofstream(path, std::ios::app)) throw Failure(path + ": cannot be written");
}

bool is_wrong(const Result & result) {
    for (const Row & row : result.rows) {
        if (!row.verdict.empty()) return true;
    }
    return false;
}

std::string first_line(const Settings & settings) {
    return std::to_string(settings.n_threads) + (settings.n_threads == 1 ? " thread" : " threads") +
           "; * is what graphs get\n\n";
}

int run(const Settings & settings) {
    if (settings.list) {
        print(list_text(settings.n_threads));
        return 0;
    }
    std::signal(SIGINT, interrupt);
    const Plans plans = make_plans(settings);
    require_writable(settings.json_file);
    std::vector<Result> results;
    bool wrong = false;
    for (const Plan & plan : plans.list) {
        if (stop) break;
        try {
            results.push_back(measure(plan, settings, stop));
        } catch (const Failure & failure) {
            if (settings.explain_file.empty()) throw Failure(plan.op->op + ": " + failure.what());
            results.push_back({});
            results.back().plan = plan;
            results.back().failure = failure.what();
        }
        if (results.size() == 1)
            print(first_line(settings)); // not before it is known that it can be measured
        wrong = wrong || is_wrong(results.back());
        print(case_text(results.back()));
    }
    if (!settings.explain_file.empty()) print(document_text(results, plans.left_out));
    if (!settings.json_file.empty()) write_json(json_text(results, plans, settings), settings.json_file);
    if (stop) print("Interrupted: this is what was measured.\n");
    return stop ? kInterrupted : wrong ? kWrong : 0;
}

int run_command(int argc, char ** argv) {
    std::string help;
    const auto settings = parse_options(std::vector<std::string>(argv + 1, argv + argc), help);
    if (settings.has_value()) return run(*settings);
    print(help);
    return 0;
}

} // namespace
} // namespace op_bench

int main(int argc, char ** argv) {
    try {
        return op_bench::run_command(argc, argv);
    } catch (const std::bad_alloc &) {
        std::fputs("op-bench: out of memory\n", stderr);
    } catch (const std::exception & error) {
        std::fprintf(stderr, "op-bench: %s\n", error.what());
    }
    return op_bench::kNotUnderstood;
}
