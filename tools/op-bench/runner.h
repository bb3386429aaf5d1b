// From what was asked for to figures.
#pragma once

#include "tools/op-bench/job.h"
#include "tools/op-bench/timing.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace op_bench {

struct Settings {
    std::vector<std::string> ops; // empty: all
    std::vector<std::string> shapes;
    std::vector<std::string> kernels; // empty: all
    std::string explain_file;         // empty: shapes
    std::string json_file;            // empty: none
    int n_threads = 1;
    double budget = 0.5; // seconds for each implementation of a shape
    bool verify = false;
    bool list = false;
};

// One node to measure.
struct Plan {
    const OpCase * op = nullptr;
    NodeSpec spec;
    std::string shape;                    // as on the command line; empty where it comes from a document
    int count = 1, fused = 0;             // as in RepeatedNode
    std::vector<Implementation> all, run; // run: those of `all` that run here and were asked for
    std::string failure;                  // why it cannot be measured; only where it comes from a document
};

struct Row {
    std::string name;
    bool chosen = false;
    std::string refusal; // why it was not run
    Samples samples;
    std::string verdict; // of verification: empty, or what is wrong
    bool verified = false;
};

struct Result {
    Plan plan;
    Work work;
    double bytes = 0;
    double peak = 0, reading = 0; // operations and bytes per second; 0: not measured
    std::vector<Row> rows;
    std::string failure; // why there are no rows

    // The least seconds the machine's ceilings allow, and which of them binds ("int8 dot", "fma", "reading").
    double least_seconds() const;
    const char * bound() const;
};

// What explain documents have that is not measured, by operator.
struct LeftOut {
    std::string op, reason;
    int count = 0;
};

struct Plans {
    std::vector<Plan> list;
    std::vector<LeftOut> left_out;
};

// Throws Failure for operators, parameters, files and kernels that do not exist.
Plans make_plans(const Settings & settings);

// Throws Failure when it cannot be measured for other reasons than those that are results.
Result measure(const Plan & plan, const Settings & settings, const std::atomic<bool> & stop);

// Seconds of one graph of the document: what each node's chosen implementation took, or the only one asked
// for.
struct StepTime {
    double seconds = 0;
    int nodes = 0, fused = 0;
};
StepTime step_time(const std::vector<Result> & results);

} // namespace op_bench
