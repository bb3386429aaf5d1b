// What appears on the terminal: results on standard output, everything else on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cli {

// One line, "error: …".
void print_error(const std::string & text);

// Lines of the engine's log go to standard error; those of the lowest level only when asked for.
void show_log(bool verbose);

// Writes a result; false, with an error line, when that fails (a full disk, a closed pipe).
bool print_result(const std::string & text);

enum class Unit { steps, bytes };

// How far long work is: a bar that is drawn anew on a terminal; elsewhere one line when a phase begins and
// one when it ends.
class Progress {
  public:
    void show(const std::string & what, uint64_t done, uint64_t total, Unit unit = Unit::steps);
    // A line above the bar.
    void line(const std::string & text);
    // Takes the bar off.
    void end();

  private:
    using Clock = std::chrono::steady_clock;
    std::string phase_;
    Clock::time_point begin_;
    bool drawn_ = false;
};

} // namespace cli
