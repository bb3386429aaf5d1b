#include "apps/cli/console.h"

#include "stable-diffusion.h"

#include <cstdio>
#include <unistd.h>

namespace cli {
namespace {

void print_log(sd_log_level_t level, const char * text, void * data) {
    const bool verbose = *static_cast<const bool *>(data);
    if (level == SD_LOG_DEBUG && !verbose) return;
    const char * tag = level == SD_LOG_ERROR ? "error: " : level == SD_LOG_WARN ? "warning: " : "";
    std::fprintf(stderr, "%s%s\n", tag, text);
}

} // namespace

void print_error(const std::string & text) { std::fprintf(stderr, "error: %s\n", text.c_str()); }

void show_log(bool verbose) {
    static bool wanted;
    wanted = verbose;
    sd_set_log_callback(print_log, &wanted);
}

bool print_result(const std::string & text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (written && std::fflush(stdout) == 0) return true;
    print_error("the result could not be written to standard output");
    return false;
}

namespace {

bool on_terminal() {
    static const bool terminal = ::isatty(STDERR_FILENO) == 1;
    return terminal;
}

// "12.3 s" or "4 min 05 s"
std::string duration(double seconds) {
    char text[40];
    if (seconds < 100.0)
        std::snprintf(text, sizeof(text), "%.1f s", seconds);
    else
        std::snprintf(text, sizeof(text), "%d min %02d s", int(seconds) / 60, int(seconds) % 60);
    return text;
}

std::string pace_text(double per_second, Unit unit) {
    char text[64];
    if (unit == Unit::bytes)
        std::snprintf(text, sizeof(text), "%.0f MB/s", per_second / 1e6);
    else if (per_second <= 1.0)
        std::snprintf(text, sizeof(text), "%.2f s/it", 1.0 / per_second);
    else
        std::snprintf(text, sizeof(text), "%.2f it/s", per_second);
    return text;
}

} // namespace

void Progress::show(const std::string & what, uint64_t done, uint64_t total, Unit unit) {
    const Clock::time_point now = Clock::now();
    if (what != phase_) {
        end();
        phase_ = what;
        begin_ = now;
        if (!on_terminal()) std::fprintf(stderr, "%s\n", what.c_str());
    }
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    if (!on_terminal()) {
        if (done == total) std::fprintf(stderr, "%s: done in %s\n", what.c_str(), duration(seconds).c_str());
        return;
    }
    constexpr int kWidth = 40;
    const int filled = total > 0 ? int(done * kWidth / total) : 0;
    std::string bar(size_t(filled), '=');
    bar.resize(kWidth, ' ');
    std::string pace;
    if (done > 0 && done < total) {
        const double each = seconds / double(done);
        pace = pace_text(1.0 / each, unit) + ", " + duration(each * double(total - done)) + " left";
    } else if (done == total) {
        pace = duration(seconds);
    }
    const uint64_t shown = unit == Unit::bytes ? 1000000 : 1; // megabytes
    std::fprintf(stderr, "\r\x1b[K%s |%s| %llu/%llu%s %s", what.c_str(), bar.c_str(),
                 static_cast<unsigned long long>(done / shown),
                 static_cast<unsigned long long>(total / shown), unit == Unit::bytes ? " MB" : "",
                 pace.c_str());
    std::fflush(stderr);
    drawn_ = true;
}

void Progress::line(const std::string & text) {
    end();
    std::fprintf(stderr, "%s\n", text.c_str());
}

void Progress::end() {
    if (drawn_) std::fprintf(stderr, "\n");
    drawn_ = false;
    phase_.clear();
}

} // namespace cli
