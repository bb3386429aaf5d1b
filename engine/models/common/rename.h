// Names by tables: the first rule whose `from` begins the name (or, for parts, occurs in it at a dot)
// applies.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace sd {

struct Rename {
    std::string_view from, to;
};

// Replaces a beginning. Tells whether a rule applied.
template <class Rules = std::initializer_list<Rename>>
bool rename_beginning(std::string & name, const Rules & rules) {
    for (const Rename & rule : rules) {
        if (!name.starts_with(rule.from)) continue;
        name.replace(0, rule.from.size(), rule.to);
        return true;
    }
    return false;
}

// Replaces an ending.
template <class Rules = std::initializer_list<Rename>>
bool rename_ending(std::string & name, const Rules & rules) {
    for (const Rename & rule : rules) {
        if (!name.ends_with(rule.from)) continue;
        name.replace(name.size() - rule.from.size(), rule.from.size(), rule.to);
        return true;
    }
    return false;
}

// Replaces the first occurrence of the first rule that occurs.
template <class Rules = std::initializer_list<Rename>>
bool rename_part(std::string & name, const Rules & rules) {
    for (const Rename & rule : rules) {
        const size_t at = name.find(rule.from);
        if (at == std::string::npos) continue;
        name.replace(at, rule.from.size(), rule.to);
        return true;
    }
    return false;
}

} // namespace sd
