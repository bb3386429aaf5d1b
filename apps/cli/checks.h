// Checks of option values, for CLI11. The message follows the option's name: "--steps: 0 is not between …".
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

// In quotes, shortened and on one line: what strangers' scripts put there may be long and hold anything.
std::string quoted(const std::string & text);

// All of the text is a number, and it is in the range, its ends included.
CLI::Validator whole_number(int64_t least, int64_t most);
CLI::Validator number(double least, double most);

// "a,b,c", with or without brackets: each is a number of the range, and none is missing.
CLI::Validator number_list(double least, double most);

// One of these words; the message lists them, and names the one that may be meant.
CLI::Validator one_of(std::vector<std::string> words);

CLI::Validator not_empty();

// "X" or "XxY" with numbers of the range; "X" stands for both.
struct Pair {
    double x, y;
};
bool parse_pair(const std::string & text, Pair & pair);
CLI::Validator whole_pair(int64_t least, int64_t most);
CLI::Validator number_pair(double least, double most);

// "7.5GiB", "800MB", "12345": bytes, above 0. Units are those of 1000 (kB, MB, GB, TB) and 1024 (KiB, MiB,
// GiB, TiB), in any case.
bool parse_size(const std::string & text, uint64_t & bytes);

// What CLI11 says, in one line of this program's words.
std::string message_of(const CLI::ParseError & error);

} // namespace cli
