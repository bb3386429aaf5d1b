#include "apps/cli/console.h"

#include "apps/cli/text.h"
#include "stable-diffusion.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cli {
namespace {

// Whether the terminal's last line is a bar, which other lines take the place of.
std::atomic<bool> bar_drawn{false};

bool verbose_wanted, color_wanted, brief;

// In one call, so that lines of several threads do not mix. A file's name cannot make a second line.
void print_line(const char * tag, const char * color, const std::string & message) {
    std::string text = printable(message);
    std::replace(text.begin(), text.end(), '\n', ' ');
    const char * clear = bar_drawn.exchange(false) ? "\r\x1b[K" : "";
    const bool colored = color_wanted && *tag != '\0';
    std::fprintf(stderr, "%s%s%s%s%s\n", clear, colored ? color : "", tag, colored ? "\x1b[0m" : "",
                 text.c_str());
}

void print_log(sd_log_level_t level, const char * text, void *) {
    if (level == SD_LOG_DEBUG && !verbose_wanted) return;
    if (level == SD_LOG_INFO && brief) return;
    if (level == SD_LOG_ERROR)
        print_error(text);
    else if (level == SD_LOG_WARN)
        print_warning(text);
    else
        print_note(text);
}

bool on_terminal() {
    static const bool terminal = ::isatty(STDERR_FILENO) == 1;
    return terminal;
}

// Asked for each time: windows change their size.
int terminal_width() {
    constexpr int kUsual = 80;
    winsize size = {};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

} // namespace

void print_error(const std::string & text) { print_line("error: ", "\x1b[31m", text); }
void print_warning(const std::string & text) { print_line("warning: ", "\x1b[33m", text); }
void print_note(const std::string & text) { print_line("", "", text); }

void show_log(bool verbose, bool color) {
    verbose_wanted = verbose;
    color_wanted = color;
    sd_set_log_callback(print_log, nullptr);
}

void show_briefly() { brief = !verbose_wanted; }

bool print_result(const std::string & text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (written && std::fflush(stdout) == 0) return true;
    print_error("the result could not be written to standard output");
    return false;
}

void Progress::show(const std::string & what, uint64_t done, uint64_t total, Unit unit) {
    const Clock::time_point now = Clock::now();
    if (what != phase_) {
        end();
        phase_ = what;
        begin_ = told_ = now;
        if (!on_terminal() && !brief) print_note(what);
    }
    const Standing standing = {what, done, total, std::chrono::duration<double>(now - begin_).count(), unit};
    if (on_terminal()) {
        // A line as wide as the terminal would be broken by some.
        std::fprintf(stderr, "\r\x1b[K%s", progress_line(standing, terminal_width() - 1).c_str());
        std::fflush(stderr);
        bar_drawn = true;
        return;
    }
    constexpr auto kBetweenLines = std::chrono::seconds(10);
    if (done == total) {
        if (!brief) print_note(what + ": done in " + duration(standing.seconds));
    } else if (now - told_ >= kBetweenLines) {
        told_ = now;
        print_note(what + ": " + standing_text(standing));
    }
}

void Progress::end() {
    if (bar_drawn.exchange(false)) std::fputs(brief ? "\r\x1b[K" : "\n", stderr);
    phase_.clear();
}

} // namespace cli
