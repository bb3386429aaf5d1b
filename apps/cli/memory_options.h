// Options about devices and memory.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace cli {

struct MemoryArguments {
    std::string backend, params_backend, split_mode, max_vram;
    bool stream_layers = false, auto_fit = false;
    bool offload_to_cpu = false, clip_on_cpu = false, vae_on_cpu = false;
    uint64_t max_ram = 0; // bytes; 0: no limit
};

void add_memory_options(CLI::App & app, MemoryArguments & m);

// The short forms become what they stand for. Assignments that were given go before them.
void settle(MemoryArguments & m);

} // namespace cli
