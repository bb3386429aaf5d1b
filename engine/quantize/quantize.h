// Writes a checkpoint as one safetensors file with weights in ComfyUI's INT8 and INT4 formats, and tells how
// good they are. Streaming: beside the headers each thread has about a million values at a time, whatever the
// tensors; exceptions are tensors with strides, which are in memory once, and calibration (docs/quantize.md).
// The file is the same for any number of threads and, but for calibrated layers, any instruction set, and
// there whole or not at all.
#pragma once

#include "adapters/adapter.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "quantize/calibrate.h"
#include "quantize/choice.h"
#include "quantize/report.h"
#include "quantize/selection.h"
#include "quantize/write.h"

#include <string>
#include <vector>

namespace sd {

struct QuantizeRequest {
    std::string output; // *.safetensors
    SelectionRequest selection;
    QuantOptions quants;
    bool header_settings = false; // settings of layers also in the header
    bool replace = false;         // an output that exists
    bool allow_nonfinite = false; // NaN and infinity in weights count as 0
    bool verify = false;          // read the file again, and compare all of it with the input
    bool scale_search = false; // see EncodeOptions; w4a8 layers with heavy tails may get levels of their own
    Budget budget;             // of the format "auto"
    CalibrationRequest calibration;   // of layers; without prompts there is none
    std::vector<AdapterUse> adapters; // that become part of the weights
    double fail_above = 0;            // a relative error that no layer may exceed; 0: any is fine
    int threads = 0;                  // below 1: one for each core the process may use
    // Bytes of the output so far and in all, from any of the threads, one call at a time: while "quantizing",
    // "verifying", and before and after "saving". False: stop, with an Error E_CANCELLED; when all is saved
    // it is too late for that. May be empty.
    QuantizeProgress progress;
};

// How all of it is measured and written.
WriteOptions options_of(const QuantizeRequest & request);

// Throws Error when the file cannot be written as asked, or does not hold what was written; nothing is left
// behind then. A layer beyond `fail_above` is the report's problem: the file is there.
QuantizeReport quantize(const Checkpoint & checkpoint, const QuantizeRequest & request);

} // namespace sd
