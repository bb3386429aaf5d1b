// The data of a quantized file: read, encoded and written a piece at a time, by several threads.
#pragma once

#include "quantize/feedback.h"
#include "quantize/part_file.h"
#include "quantize/plan.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace sd {

// See QuantizeRequest.
using QuantizeProgress = std::function<bool(const char * what, uint64_t done, uint64_t total)>;

struct WriteOptions {
    int threads = 0;
    bool allow_nonfinite = false;
    bool scale_search = false; // see EncodeOptions
    QuantizeProgress progress = {};
};

// Of a layer or a part of one.
struct LayerResult {
    ErrorSums sums;
    int64_t nonfinite = 0; // values that count as 0
    OutputSums outputs;    // of calibrated ones
};

// Writes all of the plan that is not done already; the results of its layers. They, and what an Error says
// about the first of several wrong tensors, are the same for any number of threads.
// Layers that are not done are calibrated first where there is a calibrator; those that its pipeline does not
// run are written without.
class Calibrator;
std::vector<LayerResult> write_quantized(const Checkpoint & checkpoint, const QuantizePlan & plan,
                                         const WriteOptions & options, PartFile & out,
                                         Calibrator * calibrator = nullptr);

// Calls work(i) for i in [0, count) as parallel_parts does, but throws what the lowest i throws.
void in_parallel(int64_t count, int threads, const std::function<void(int64_t)> & work);

// Calls `progress`, if there is one; an Error (E_CANCELLED) when it asks to stop.
void tell(const QuantizeProgress & progress, const char * what, uint64_t done, uint64_t total);

} // namespace sd
