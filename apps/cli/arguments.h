// The command line of sd-cli as values.
#pragma once

#include "apps/cli/compare_options.h"
#include "apps/cli/memory_options.h"
#include "apps/cli/quantize_options.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace cli {

enum class Mode { img_gen, inspect, convert, quantize, compare, metadata };

const char * mode_name(Mode mode); // as for --mode

struct Arguments {
    Mode mode = Mode::img_gen;
    std::map<std::string, std::string> given; // options on the command line, by long name: their group

    // Model files
    std::string model, diffusion_model, llm, vae, tokenizer, type, tensor_type_rules;
    int assume_int8_group = 0;
    bool keep_loaded = false, no_mmap = false;
    std::string lora_model_dir = ".", lora_apply_mode = "auto";

    // The picture
    std::string prompt, negative_prompt, prompt_file, negative_prompt_file, prompts;
    int width = 0, height = 0; // 0: not given
    int64_t seed = 42;
    int batch_count = 1, threads = -1;
    std::string init_image, mask;
    float strength = 0.75f;

    // Sampling
    int steps = 20;
    float cfg_scale = 7.0f, eta = INFINITY, flow_shift = INFINITY;
    std::string sampling_method, scheduler, sigmas, extra_sample_args, rng = "cuda", sampler_rng;

    // The VAE
    bool vae_tiling = false;
    std::string vae_tile_size, vae_relative_tile_size;
    float vae_tile_overlap = 0.5f;

    // Output
    std::string output = "output.png", grid, preview = "none", preview_path = "preview.png", dump_tensors,
                explain, trace;
    int output_begin_idx = -1, preview_interval = 1;
    bool disable_image_metadata = false, check_nan = false;

    bool json = false, layers = false;           // inspect
    std::string image, metadata_format = "text"; // metadata
    MemoryArguments memory;
    QuantizeArguments quantize;
    CompareArguments compare; // and the report of `quantize`
    bool list_devices = false;
    bool verbose = false, color = false;
};

// Fills `arguments`, or returns the exit status to end with: after --help and --version, and after a message
// about what is wrong.
bool parse(int argc, char ** argv, Arguments & arguments, int & exit_status);

} // namespace cli
