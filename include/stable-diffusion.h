// The image engine's C API: what a program needs to look into, convert and run image models.
//
//   char * report = NULL;
//   if (!sd_inspect(&params, SD_INSPECT_TEXT, &report)) fprintf(stderr, "%s\n", sd_last_error());
//   sd_free_text(report);
//
// Strings are UTF-8. Those passed in are borrowed for the call; NULL and "" mean "not given". Strings that
// functions return as char * belong to the caller, who gives them to sd_free_text. Functions that can fail
// say so with false or NULL, and sd_last_error tells why in one line; no exception leaves this interface.
// Functions may be called from any thread, at the same time as long as each has its own objects.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SD_API
#    if defined(_WIN32) && defined(SD_SHARED)
#        ifdef SD_BUILD
#            define SD_API __declspec(dllexport)
#        else
#            define SD_API __declspec(dllimport)
#        endif
#    elif defined(__GNUC__)
#        define SD_API __attribute__((visibility("default")))
#    else
#        define SD_API
#    endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

//
// Messages
//

enum sd_log_level_t { SD_LOG_DEBUG, SD_LOG_INFO, SD_LOG_WARN, SD_LOG_ERROR };

// Receives lines without a newline, from any thread, one at a time. NULL: nothing is reported; errors are
// still in sd_last_error. The callback stays until it is replaced.
typedef void (*sd_log_cb_t)(enum sd_log_level_t level, const char * text, void * data);
SD_API void sd_set_log_callback(sd_log_cb_t callback, void * data);

// Long work tells how far it is: `done` of `total` units of what `what` names. Units are bytes where it
// begins with "loading", "converting", "looking for", "measuring", "quantizing", "verifying" or "saving",
// else steps, tiles or texts. From any thread, one call at a time. Returning false stops the work as soon as
// possible; it then fails with the code E_CANCELLED.
typedef bool (*sd_work_cb_t)(const char * what, uint64_t done, uint64_t total, void * data);

// Why the last call of this thread that failed did so: `FILE: tensor NAME: cause (what to do)`. Valid until
// the thread's next call. "" when none failed.
SD_API const char * sd_last_error(void);
// A word for programs, "E_SCALE_SHAPE" and so on; the table is in docs/errors.md. "" when there is none.
SD_API const char * sd_last_error_code(void);

SD_API void sd_free_text(char * text);

SD_API const char * sd_version(void); // "0.1.0"

//
// Model files
//

// A model as files: one that holds everything, or its parts. A file may be safetensors (also an index of
// shards, *.index.json), GGUF or a PyTorch checkpoint; which it is, its first bytes say.
typedef struct {
    const char * model; // everything, or any one part
    const char * diffusion_model;
    const char * llm;
    const char * vae;
} sd_model_files_t;

typedef struct {
    sd_model_files_t files;
    // The rotation group of INT8 weights that come without settings (1: not rotated); 0: they are refused.
    int assume_int8_group;
} sd_load_params_t;

SD_API void sd_load_params_init(sd_load_params_t * params);

typedef enum {
    SD_INSPECT_TEXT,   // for people
    SD_INSPECT_LAYERS, // the same with a line per layer
    SD_INSPECT_JSON,   // docs/inspect.md
} sd_inspect_format_t;

// What the files are, from their headers. *report is set whenever the files could be read. The result is
// false when they could not, and also when they could but the model cannot be run: then there are both, a
// report and an error.
SD_API bool sd_inspect(const sd_load_params_t * params, sd_inspect_format_t format, char ** report);

// Whether the path is, under whatever name, one of the files, a shard or its index. False also when they
// cannot be opened; see sd_last_error.
SD_API bool sd_model_reads_file(const sd_model_files_t * files, const char * path);

// Writing the files as one file of another container, or with weights of another type.
typedef struct {
    sd_model_files_t files;
    const char * output; // *.safetensors or *.gguf; replaced when it exists, never one of the files
    // The type of weights, and rules that go before it, as in sd_ctx_params_t. Layers in INT8 and INT4
    // formats stay as they are, and need safetensors; formats of that kind are no wtype.
    const char * wtype;
    const char * tensor_type_rules;
    int n_threads;         // below 1: one for each core the process may use
    int assume_int8_group; // see sd_load_params_t
} sd_convert_params_t;

SD_API void sd_convert_params_init(sd_convert_params_t * params);

// The output is there whole or not at all, and the same for any number of threads. Memory does not grow with
// the size of the tensors. The callback, which may be NULL, counts bytes of the output and comes from any
// thread, one call at a time.
SD_API bool sd_convert(const sd_convert_params_t * params, sd_work_cb_t progress, void * data);

// An adapter: LoRA, LoHa, LoKr or differences of weights (docs/adapters.md).
typedef struct {
    bool is_high_noise; // for models in two stages, of which there are none here: must be false
    float multiplier;   // of any sign; 0: as if it were not there
    const char * path;
} sd_lora_t;

// Writing the files as one safetensors file with weights in the INT8 and INT4 formats of ComfyUI.
// docs/quantize.md describes formats, choice of layers and report.
typedef struct {
    sd_model_files_t files;
    const char * const * more_files; // further files of files.model
    size_t more_files_count;
    const char * output;  // *.safetensors, never one of the files
    const char * format;  // of the layers: "int8", "int8-convrot", "w4a4", "w4a8"; "auto": see target_size
    int group;            // of the rotation; 0: the largest of 256, 64, 16, 4 that divides a layer's inputs
    const char * preset;  // which layers, by model family; NULL: the files tell. "none": see include
    const char * include; // more layers, and fewer: names, with * and ?, commas between them
    const char * exclude;
    const char * rules_file; // a format for each of some layers, before all of the above
    bool header_settings;    // write the layers' settings into the file's header, too
    bool replace;            // an output that exists
    bool allow_nonfinite;    // NaN and infinity in weights count as 0; otherwise they are an error
    bool verify;             // read the output again and compare it with the files
    // With the format "auto" one of these is above 0: bytes the output may have, or the error (root of the
    // mean of squared relative errors of layers, weighed by their sizes) it may have with as few bytes as
    // possible.
    uint64_t target_size;
    double max_error;
    const sd_lora_t * loras; // become part of the weights before these are quantized; equal paths add up
    uint32_t lora_count;
    // Error feedback from what layers read while these files make pictures of the prompts (count 0: none).
    // They hold a whole pipeline, with the layers under the same names; all NULL: they are `files`.
    // There are no more_files then.
    const char * const * calibration_prompts;
    size_t calibration_prompts_count;
    sd_model_files_t calibration_files;
    const char * calibration_tokenizer; // see sd_ctx_params_t
    // 0: as the diffusion model's file advises, else 8 steps, 512x512, without guidance
    int calibration_steps, calibration_width, calibration_height;
    float calibration_cfg;
    int64_t calibration_seed;
    uint64_t calibration_memory; // bytes for statistics that are gathered in one pass; 0: 2 GiB
    bool scale_search;           // slower: scales with the least squared error, which is never larger then
    double fail_above;           // relative error of a layer's weight that is a failure; 0: none is
    int n_threads;               // below 1: one for each core the process may use
    int assume_int8_group;       // see sd_load_params_t
} sd_quantize_params_t;

SD_API void sd_quantize_params_init(sd_quantize_params_t * params);

// The output is there whole or not at all, and the same for any number of threads. What is done is kept
// beside it when the callback stops the work (OUTPUT.part and others, which the message names), or the
// machine does; the same call goes on from there. Memory does not grow with the size of the tensors. Reports:
// a table for people, and JSON; either may be NULL. They are set when the output was written, also when the
// result is false because a layer's error is above fail_above. The callback is as for sd_convert.
SD_API bool sd_quantize(const sd_quantize_params_t * params, sd_work_cb_t progress, void * data,
                        char ** text_report, char ** json_report);

//
// Pictures
//

enum rng_type_t { STD_DEFAULT_RNG, CUDA_RNG, CPU_RNG, RNG_TYPE_COUNT };

// Samplers and schedulers are named as on the command line ("euler", "simple"): sd_sampler_name lists them.
// NULL beyond the last one. Those that exist and cannot be used for the models here are not listed.
SD_API const char * sd_sampler_name(int i);
SD_API const char * sd_scheduler_name(int i);
// What a request for these becomes; NULL and "" ask for the usual one. NULL: there is no such name, or no
// model here can use it; see sd_last_error.
SD_API const char * sd_resolve_sampler(const char * sampler);
SD_API const char * sd_resolve_scheduler(const char * sampler, const char * scheduler);
// Types that wtype of the parameters may name: "f32", "q8_0". NULL beyond the last one.
SD_API const char * sd_weight_type_name(int i);
SD_API const char * sd_rng_type_name(enum rng_type_t type); // "cuda"; NULL for no type
SD_API enum rng_type_t str_to_rng_type(const char * name);  // RNG_TYPE_COUNT for no name

// When adapters are added: in each step, or once to float weights while they are loaded, which is faster and
// rounds them once more. AUTO: while loading where all weights are floats. With quantized ones it is always
// in each step.
enum lora_apply_mode_t {
    LORA_APPLY_AUTO,
    LORA_APPLY_IMMEDIATELY,
    LORA_APPLY_AT_RUNTIME,
    LORA_APPLY_MODE_COUNT
};
SD_API const char * sd_lora_apply_mode_name(enum lora_apply_mode_t mode); // "at_runtime"; NULL for no mode
SD_API enum lora_apply_mode_t str_to_lora_apply_mode(const char * name);  // LORA_APPLY_MODE_COUNT for no name

// Rows from the top, `channel` bytes side by side for each pixel.
typedef struct {
    uint32_t width, height, channel;
    uint8_t * data;
} sd_image_t;

typedef struct {
    bool enabled;
    int tile_size_x, tile_size_y; // in pixels of the latent image, 8 of the picture; 0: 32
    float rel_size_x, rel_size_y; // above 0 instead: a fraction of the picture, or about how many tiles
    float target_overlap;         // 0 to 0.5 of a tile
} sd_tiling_params_t;

typedef struct {
    const char * sample_method;     // NULL: "euler"
    const char * scheduler;         // NULL: the one that belongs to the method
    int sample_steps;               // 1 to 10000
    float txt_cfg;                  // 1: without guidance
    float eta;                      // INFINITY: the method's own
    float flow_shift;               // INFINITY: the model's own
    const char * custom_sigmas;     // "1,0.5,0": instead of scheduler and steps
    const char * extra_sample_args; // "key=value,..."
} sd_sample_params_t;

typedef struct {
    sd_model_files_t files;
    const char *
        tokenizer; // for text encoders without vocabulary: tokenizer.json, vocab.json, a folder, a GGUF
    int n_threads; // below 1: one for each physical core; at most 512
    int assume_int8_group;          // see sd_load_params_t
    const char * wtype;             // the type float weights are turned into ("f32", "q8_0"); NULL: as stored
    const char * tensor_type_rules; // "regex=type,..."; goes before wtype
    bool enable_mmap;               // use weights where they lie in the files
    bool keep_loaded;               // keep every part in memory for the next picture
    enum rng_type_t rng_type;
    enum rng_type_t sampler_rng_type; // RNG_TYPE_COUNT: the same as rng_type
    enum lora_apply_mode_t lora_apply_mode;
    // Where parts compute, where their weights wait and how much memory they take, as on the command line
    // (docs/memory.md). None of it changes a picture.
    const char * backend;        // "DEVICE", or "MODULE=DEVICE,..."; NULL: the best device. "A&B": on both
    const char * params_backend; // the same, also "disk"; NULL: where they are used
    const char * split_mode;     // "layer"
    const char * max_vram;       // GiB, or "DEVICE=GiB,..."; below 0: so much less than is free
    uint64_t max_ram;            // bytes the process may have in memory; 0: no limit
    bool stream_layers;          // with a limit: keep what fits, and fetch layers while others compute
    bool auto_fit;               // the best device, and as much of its memory as is free
} sd_ctx_params_t;

typedef struct {
    const char * prompt;
    const char * negative_prompt;
    const sd_lora_t * loras; // tags in the prompt are no adapters here; equal paths add up
    uint32_t lora_count;
    int width, height; // other than multiples of 8: made a little larger and cropped
    int64_t seed;      // below 0: drawn
    int batch_count;   // picture i has the seed seed + i and can be made alone with it
    sd_sample_params_t sample_params;
    sd_image_t init_image; // data NULL: none
    sd_image_t mask_image; // 128 and above: make anew; pixels below stay those of init_image
    float strength;        // how much of init_image may change: a share of the steps, at least one; 1: all
    sd_tiling_params_t vae_tiling_params;
    bool check_nan;            // look for the first layer whose output is not finite
    const char * explain;      // a file for what runs each node of a step (.json, else text); NULL: none
    const char * dump_tensors; // a safetensors file for the tensors on the way (docs/cli.md); NULL: none
} sd_img_gen_params_t;

// Fill in what is usual.
SD_API void sd_sample_params_init(sd_sample_params_t * params);
SD_API void sd_ctx_params_init(sd_ctx_params_t * params);
SD_API void sd_img_gen_params_init(sd_img_gen_params_t * params);

typedef struct {
    // Each may be NULL. All but progress are called from the thread that generates.
    sd_work_cb_t progress;
    // A finished picture, as soon as there is one; `image` is freed after the call. The seed is the picture's
    // own.
    void (*image)(int index, int64_t seed, const sd_image_t * image, void * data);
    // After each step, the estimate so far as a small picture.
    void (*preview)(int step, int steps, const sd_image_t * image, void * data);
    void * data;
} sd_gen_callbacks_t;

// Opens the files and checks that they belong together; weights are loaded when they are needed. NULL: see
// sd_last_error.
typedef struct sd_ctx_t sd_ctx_t;
SD_API sd_ctx_t * new_sd_ctx(const sd_ctx_params_t * params);
SD_API void free_sd_ctx(sd_ctx_t * ctx); // NULL is allowed; not while it generates

// What the diffusion model's file advises for pictures made with it (docs/cli.md); nothing is used unless it
// is put into the parameters, except the flow shift, which is the model's own.
typedef struct {
    int width, height, steps;    // 0: no advice
    float cfg_scale, flow_shift; // INFINITY: no advice
    const char * sample_method;  // NULL: no advice; valid as long as the context
    const char * scheduler;      // the same
    bool by_name;                // steps and cfg_scale only because the file's name says "turbo"
} sd_model_advice_t;

SD_API void sd_get_model_advice(const sd_ctx_t * ctx, sd_model_advice_t * advice);

// Whether the path is, under whatever name, a file that the context reads: one of the model, a shard or its
// index, or a vocabulary. Nothing should be written over it. Adapters are files of a call, not of the
// context.
SD_API bool sd_ctx_reads_file(const sd_ctx_t * ctx, const char * path);

// One at a time for a context; a second call waits. callbacks: NULL or borrowed for the call. Pictures are
// delivered through callbacks->image, and in *images (*count of them, for free_sd_images) unless images is
// NULL. False when it failed or was cancelled; what was delivered before stays valid. E_ARGUMENT when explain
// or dump_tensors is a file that is read, or the same file.
SD_API bool generate_image(sd_ctx_t * ctx, const sd_img_gen_params_t * params,
                           const sd_gen_callbacks_t * callbacks, sd_image_t ** images, int * count);
SD_API void free_sd_images(sd_image_t * images, int count);

// From any thread, also from a signal handler: the generation under way ends soon and fails with "cancelled".
SD_API void sd_cancel_generation(sd_ctx_t * ctx);

SD_API int sd_get_num_physical_cores(void);

// "name<TAB>description" for each device, a line each. Copies what fits into `buffer` with a zero after it;
// returns the bytes of the whole text without the zero. buffer NULL or size 0: only that.
SD_API size_t sd_list_devices(char * buffer, size_t size);

// Records what runs when, for the whole process, in a file for chrome://tracing or Perfetto, which is written
// when the trace ends. False: see sd_last_error.
SD_API bool sd_trace_begin(const char * file_name);
SD_API bool sd_trace_end(void);

#ifdef __cplusplus
}
#endif
