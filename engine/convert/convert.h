// Writes a checkpoint as one safetensors or GGUF file, with types changed where rules ask for it. Streaming:
// beside the headers, each thread has one piece of a million elements at a time, about 20 MB, whatever the
// tensors; exceptions are tensors with strides, which are in memory once, and rows of scaled 8-bit layers
// that are longer than a piece. The file is the same for any number of threads, and there whole or not at
// all.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"

#include <cstdint>
#include <functional>
#include <string>

namespace sd {

struct ConvertRequest {
    std::string output; // *.safetensors or *.gguf
    std::string type;   // as TypeRules has them
    std::string rules;
    QuantOptions quants;
    int threads = 0; // below 1: one for each core the process may use
    // Bytes of the output so far and in all, from any of the threads, one call at a time: while "converting",
    // and before and after "saving", when the disk takes what the system still has in memory. False: stop,
    // with an Error E_CANCELLED; when all is saved it is too late for that. May be empty.
    std::function<bool(const char * what, uint64_t done, uint64_t total)> progress;
};

// What becomes of a tensor: the type of the first rule that matches, else `type`, else as it is stored; those
// that TypeRules excludes stay. INT8 and INT4 layers stay as they are, settings and scales too, which only
// safetensors can hold. Scaled 8-bit float layers become plain weights when a type is asked for and stay
// otherwise. Names are those of the file; of several components merged, those of the checkpoint's table.
// Metadata are kept as far as the container can say them; where several files have the same key, the first
// wins. Throws Error when something cannot be written as asked; nothing is left behind then.
void convert(const Checkpoint & checkpoint, const ConvertRequest & request);

} // namespace sd
