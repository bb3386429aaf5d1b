#include "apps/cli/checks.h"

#include "apps/cli/suggestion.h"
#include "apps/cli/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace cli {
namespace {

template <class T>
bool parse(std::string_view text, T & value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc() && end == text.data() + text.size();
}

// Digits that no int64_t holds are a number out of range, and no spelling mistake.
bool is_digits(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string shown(double value) {
    char text[32];
    const auto [end, problem] = std::to_chars(text, text + sizeof(text), value);
    return problem == std::errc() ? std::string(text, end) : "?";
}

std::string between(const std::string & what, double least, double most) {
    return what + " is not between " + shown(least) + " and " + shown(most);
}

using Check = std::function<std::string(std::string &)>;
CLI::Validator checked(Check check) { return CLI::Validator(std::move(check), std::string()); }

std::string check_whole(const std::string & text, int64_t least, int64_t most) {
    int64_t value = 0;
    const bool fits = parse(text, value);
    if (!fits && !is_digits(text)) return quoted(text) + " is no whole number";
    if (fits && value >= least && value <= most) return {};
    const std::string what = text.size() <= 30 ? text : quoted(text);
    return what + " is not between " + std::to_string(least) + " and " + std::to_string(most);
}

std::string check_number(const std::string & text, double least, double most) {
    double value = 0.0;
    if (!parse(text, value) || std::isnan(value)) return quoted(text) + " is no number";
    return value >= least && value <= most ? std::string() : between(shown(value), least, most);
}

std::string without_spaces(const std::string & text) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string check_number_list(const std::string & text, double least, double most) {
    std::string rest = without_spaces(text);
    if (rest.starts_with('[') && rest.ends_with(']') && rest.size() > 1)
        rest = rest.substr(1, rest.size() - 2);
    for (size_t at = 0; at <= rest.size();) {
        const size_t end = std::min(rest.find(',', at), rest.size());
        const std::string entry = without_spaces(rest.substr(at, end - at));
        if (entry.empty()) return quoted(text) + " is no list of numbers, as 1,0.5,0";
        const std::string message = check_number(entry, least, most);
        if (!message.empty()) return message;
        at = end + 1;
    }
    return {};
}

// The two parts of "XxY".
std::pair<std::string, std::string> parts(const std::string & text) {
    const size_t x = text.find('x');
    if (x == std::string::npos) return {text, text};
    return {text.substr(0, x), text.substr(x + 1)};
}

// An x too many, or one with nothing on one of its sides.
bool is_broken_pair(const std::string & text) {
    const auto [x, y] = parts(text);
    return !text.empty() && (x.empty() || y.empty() || y.find('x') != std::string::npos);
}

CLI::Validator pair_of(std::function<std::string(const std::string &)> check) {
    return checked([check = std::move(check)](const std::string & text) {
        if (is_broken_pair(text)) return quoted(text) + " is neither X nor XxY";
        const auto [x, y] = parts(text);
        const std::string message = check(x);
        return message.empty() ? check(y) : message;
    });
}

} // namespace

std::string quoted(const std::string & text) {
    constexpr size_t kMost = 60;
    std::string line =
        printable(text.size() <= kMost ? text : text.substr(0, kMost)) + (text.size() <= kMost ? "" : "...");
    std::replace(line.begin(), line.end(), '\n', ' ');
    return '"' + line + '"';
}

CLI::Validator whole_number(int64_t least, int64_t most) {
    return checked([=](const std::string & text) { return check_whole(text, least, most); });
}

CLI::Validator number(double least, double most) {
    return checked([=](const std::string & text) { return check_number(text, least, most); });
}

CLI::Validator number_list(double least, double most) {
    return checked([=](const std::string & text) { return check_number_list(text, least, most); });
}

CLI::Validator one_of(std::vector<std::string> words) {
    return checked([words = std::move(words)](const std::string & text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        std::string message = quoted(text) + " is none of ";
        for (size_t i = 0; i < words.size(); ++i) message += (i > 0 ? ", " : "") + words[i];
        return message + did_you_mean(text, words);
    });
}

CLI::Validator not_empty() {
    return checked([](const std::string & text) { return text.empty() ? "is empty" : std::string(); });
}

bool parse_pair(const std::string & text, Pair & pair) {
    const auto [x, y] = parts(text);
    return parse(x, pair.x) && parse(y, pair.y);
}

CLI::Validator whole_pair(int64_t least, int64_t most) {
    return pair_of([=](const std::string & text) { return check_whole(text, least, most); });
}

CLI::Validator number_pair(double least, double most) {
    return pair_of([=](const std::string & text) { return check_number(text, least, most); });
}

bool parse_size(const std::string & text, uint64_t & bytes) {
    constexpr std::pair<const char *, double> kUnits[] = {
        {"", 1},      {"b", 1},        {"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},
        {"tb", 1e12}, {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40}};
    constexpr double kMost = 0x1p62;
    const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    std::string unit = text.substr(end);
    for (char & c : unit) c = char(std::tolower(uint8_t(c)));
    double value = 0;
    if (!parse(std::string_view(text).substr(0, end), value)) return false;
    for (const auto & [name, factor] : kUnits) {
        if (unit != name) continue;
        if (!(value * factor >= 1 && value * factor <= kMost)) return false;
        bytes = uint64_t(value * factor);
        return true;
    }
    return false;
}

std::string message_of(const CLI::ParseError & error) {
    const std::string text = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch *>(&error) != nullptr) {
        const std::string name = text.substr(0, text.find(':'));
        // A flag that was given a value is the other mismatch.
        return text.find("required") != std::string::npos ? name + " needs a value" : text;
    }
    return text;
}

} // namespace cli
