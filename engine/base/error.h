// The one exception of the engine: a reason a person can act on. Thrown by whatever reads files or checks
// requests, caught where the C API begins; it never crosses that line.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace sd {

// what() is one line, `FILE: tensor NAME: cause (what to do)`, of the parts that are known. Text that comes
// from a file is made printable and is cut when long, so a name cannot forge a second line.
class Error : public std::runtime_error {
  public:
    struct Parts {
        std::string code;   // "E_SCALE_SHAPE" and so on, for programs; not part of the line
        std::string file;   // as the user wrote it; empty: no file
        std::string tensor; // as stored in the file; empty: the file as a whole
        std::string cause;
        std::string advice; // empty: none that could work
    };

    explicit Error(std::string cause) : Error(Parts{{}, {}, {}, std::move(cause), {}}) {}
    explicit Error(Parts parts);

    const Parts & parts() const { return parts_; }

    // The same error with a file name, for code that reads bytes and does not know where they are from.
    Error in_file(const std::string & file) const;

  private:
    Parts parts_;
};

// Text from strangers as part of a message: control characters and bytes that are no UTF-8 become \xNN, more
// than `most` bytes are cut with "...".
std::string printable(std::string_view text, size_t most = 120);

// The same between quotation marks.
std::string in_quotes(std::string_view text, size_t most = 120);

} // namespace sd
