// What appears on the terminal: results on standard output, everything else on standard error.
#pragma once

#include "apps/cli/progress_line.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace cli {

// One line each: "error: …", "warning: …", the text alone. They come above a progress bar.
void print_error(const std::string & text);
void print_warning(const std::string & text);
void print_note(const std::string & text);

// Lines of the engine's log go to standard error; those of the lowest level only when asked for. color: of
// all tags from now on.
void show_log(bool verbose, bool color);

// From now on work of a few seconds leaves no lines, and the log only warnings and errors, unless it is
// verbose: for the many pictures after a first one.
void show_briefly();

// Writes a result; false, with an error line, when that fails (a full disk, a closed pipe).
bool print_result(const std::string & text);

// How far long work is: a bar that is drawn anew on a terminal; elsewhere one line when a phase begins, one
// now and then, and one when it ends.
class Progress {
  public:
    void show(const std::string & what, uint64_t done, uint64_t total, Unit unit = Unit::steps);
    // Leaves the last state of the bar and goes to a new line.
    void end();

  private:
    using Clock = std::chrono::steady_clock;
    std::string phase_;
    Clock::time_point begin_, told_;
};

} // namespace cli
