// Which models a checkpoint holds: families this program runs, with sizes and completeness, and others by
// name, so that a file that belongs elsewhere is called what it is.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "models/common/model_table.h"

#include <string>
#include <utility>
#include <vector>

namespace sd {

enum class ModelRole { diffusion, text_encoder, vae, adapter };

const char * role_name(ModelRole role); // "diffusion model", "text encoder", "VAE", "adapter"

struct FoundModel {
    std::string family; // "krea2", "qwen3_vl", "wan_vae", "flux2" and so on
    std::string title;  // for people: "Krea 2"
    ModelRole role;
    bool runs;                                              // this program can run it
    std::string prefix;                                     // of its tensors in the checkpoint
    std::vector<std::pair<std::string, std::string>> sizes; // hyper-parameters, for people
    // Of families that run: what is not there, and what nobody needs.
    std::vector<std::string> missing, unused;
};

// By tensor names alone, never by file names or metadata. Tensors with wrong shapes are an Error.
std::vector<FoundModel> find_models(const Checkpoint & checkpoint, const QuantModules & quants);

} // namespace sd
