#include "sampling/key_values.h"

#include "base/error.h"
#include "base/trimmed.h"
#include "sampling/choices.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace sd {
namespace {

std::string range_text(double least, double most) {
    char text[64];
    std::snprintf(text, sizeof(text), "from %g to %g", least, most);
    return text;
}

[[noreturn]] void refuse_value(std::string_view key, const std::string & value, const std::string & wanted) {
    throw Error({"E_SAMPLE_ARGUMENT",
                 {},
                 {},
                 "sample argument " + std::string(key) + ": " + in_quotes(value, 40) + " is no " + wanted,
                 {}});
}

} // namespace

std::optional<double> finite_number(std::string_view text) {
    double value = 0.0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
    return value;
}

KeyValues KeyValues::parse(std::string_view text) {
    KeyValues parsed;
    if (trimmed(text).empty()) return parsed;
    while (true) {
        const size_t end = text.find_first_of(",;");
        const std::string_view entry = trimmed(text.substr(0, end));
        const size_t equals = entry.find('=');
        const std::string key(trimmed(entry.substr(0, equals)));
        if (equals == std::string_view::npos || key.empty()) {
            throw Error({"E_SAMPLE_ARGUMENT",
                         {},
                         {},
                         "sample arguments: " + in_quotes(entry, 40) + " is no key=value",
                         "write key=value,key=value"});
        }
        if (!parsed.values_.emplace(key, trimmed(entry.substr(equals + 1))).second)
            throw Error({"E_SAMPLE_ARGUMENT",
                         {},
                         {},
                         "sample argument " + printable(key, 40) + " is given twice",
                         {}});
        if (end == std::string_view::npos) return parsed;
        text.remove_prefix(end + 1);
    }
}

double KeyValues::number(std::string_view key, double otherwise, double least, double most) const {
    const auto found = values_.find(key);
    if (found == values_.end()) return otherwise;
    const std::optional<double> value = finite_number(found->second);
    if (value && *value >= least && *value <= most) return *value;
    refuse_value(key, found->second, "number " + range_text(least, most));
}

int KeyValues::integer(std::string_view key, int otherwise, int least, int most) const {
    const auto found = values_.find(key);
    if (found == values_.end()) return otherwise;
    const std::optional<double> value = finite_number(found->second);
    if (value && *value >= least && *value <= most && *value == std::floor(*value)) return int(*value);
    refuse_value(key, found->second, "whole number " + range_text(least, most));
}

bool KeyValues::flag(std::string_view key, bool otherwise) const {
    const auto found = values_.find(key);
    if (found == values_.end()) return otherwise;
    if (found->second == "1" || found->second == "true") return true;
    if (found->second == "0" || found->second == "false") return false;
    refuse_value(key, found->second, "choice of 0 and 1");
}

std::string KeyValues::text(std::string_view key) const {
    const auto found = values_.find(key);
    return found != values_.end() ? found->second : std::string();
}

void KeyValues::check_known(const std::vector<std::string> & known) const {
    for (const auto & [key, value] : values_) {
        bool is_known = false;
        for (const std::string & name : known) is_known = is_known || name == key;
        if (!is_known) refuse_choice("sample argument", key, {}, known);
    }
}

} // namespace sd
