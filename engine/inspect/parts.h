// Whether the files that were given as one part of a model, such as its VAE, hold that part.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "models/families.h"

#include <optional>
#include <string>
#include <vector>

namespace sd {

// "Krea 2 diffusion model", "Wan 2.1 VAE"
std::string title_and_role(const FoundModel & model);

// That models nothing is wrong with can be run, and which other parts that takes; "" when none of them is
// such a part.
std::string what_runs(const std::vector<FoundModel> & models);

// Nothing when each part is in `models`, the models of the checkpoint, or was not given. Otherwise why the
// first one is not: what its files hold instead is put into `models`, with the prefix it has in the files.
std::optional<Error> wrong_part(const Checkpoint & checkpoint, const QuantOptions & options,
                                std::vector<FoundModel> & models);

} // namespace sd
