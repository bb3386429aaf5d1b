// Figures for people, and the same for programs.
#pragma once

#include "tools/op-bench/runner.h"

#include <string>
#include <vector>

namespace op_bench {

// A heading and one line for each implementation, in columns.
std::string case_text(const Result & result);

// What a whole document takes, and what was left out of that.
std::string document_text(const std::vector<Result> & results, const std::vector<LeftOut> & left_out);

// Operators, their parameters with the values they have initially, and their implementations here.
std::string list_text(int n_threads);

// One object: {version: 1, threads, cases[], left_out[], step_seconds?}; docs/op-bench.md lists the fields.
std::string json_text(const std::vector<Result> & results, const Plans & plans, const Settings & settings);

} // namespace op_bench
