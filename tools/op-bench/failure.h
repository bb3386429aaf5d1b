// What ends a run: one line for the person who typed the command. Thrown where it is found, caught in main.
#pragma once

#include <stdexcept>
#include <string>

namespace op_bench {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace op_bench
