// Refusing a name that was asked for, by listing those that can be had.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sd {

// `there is no WHAT "NAME" (use one of A, B)`; with a reason `WHAT "NAME" REASON (use one of A, B)`. Throws
// Error.
[[noreturn]] void refuse_choice(std::string_view what, std::string_view name, std::string_view reason,
                                const std::vector<std::string> & usable);

// "a, b, c"
std::string joined(const std::vector<std::string> & names);

} // namespace sd
