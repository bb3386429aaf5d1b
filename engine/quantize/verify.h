// Reads a quantized file as the engine does, and compares it with what it was made of.
#pragma once

#include "quantize/write.h"

#include <string>
#include <vector>

namespace sd {

// Relative errors of the plan's layers, by decoding the file `path` and rotating back. An Error (E_VERIFY)
// when a layer is not what the plan says, when its error is not the one of `results`, or when the bytes of a
// copy are others. Values that are not finite count as 0 where options.allow_nonfinite says so.
std::vector<double> verify_quantized(const Checkpoint & checkpoint, const QuantizePlan & plan,
                                     const std::vector<LayerResult> & results, const WriteOptions & options,
                                     const std::string & path);

} // namespace sd
