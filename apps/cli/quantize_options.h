// What -M quantize is asked for, beside the model files, threads and output of all modes.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

struct LoraFile {
    std::string path;
    float strength = 1;
};

struct QuantizeArguments {
    std::vector<std::string> more_models; // after the first -m
    std::string format, preset, include, exclude, rules, report, calibrate;
    std::vector<LoraFile> loras;
    int group = 0;
    double fail_above = 0, max_error = 0;
    uint64_t target_size = 0, calibrate_memory = 0; // bytes
    bool header_settings = false, force = false, allow_nonfinite = false, verify = false,
         scale_search = false;
};

void add_quantize_options(CLI::App & app, QuantizeArguments & q);

// -m may be given several times for this mode; the others take the last one.
void take_models(const CLI::App & app, std::string & model, QuantizeArguments & q);

} // namespace cli
