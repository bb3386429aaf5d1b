// Settings written as `key=value,key=value` (`;` separates as well), as options for experts are. A value that
// is no number, or out of its range, is an Error that names key and range; nothing falls back silently.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

class KeyValues {
  public:
    KeyValues() = default;

    // Blanks around keys and values do not count; an empty text has no entries. A key given twice is an
    // Error.
    static KeyValues parse(std::string_view text);

    bool has(std::string_view key) const { return values_.find(key) != values_.end(); }

    // The value of a key, or `otherwise` where it was not given. Bounds are inclusive.
    double number(std::string_view key, double otherwise, double least, double most) const;
    int integer(std::string_view key, int otherwise, int least, int most) const;
    bool flag(std::string_view key, bool otherwise) const; // 0, 1, false, true
    std::string text(std::string_view key) const;          // empty: not given

    // Throws unless each key is one of these.
    void check_known(const std::vector<std::string> & known) const;

  private:
    std::map<std::string, std::string, std::less<>> values_;
};

// All of the text as a finite number, without regard to the locale.
std::optional<double> finite_number(std::string_view text);

} // namespace sd
