// How good layers would be in each of the formats they could get, before anything is written.
#pragma once

#include "quantize/selection.h"
#include "quantize/write.h"

namespace sd {

// Gives layers that are, or could be, w4a8 a second candidate with levels of their own, where their values
// are heavy-tailed. Reads those layers once.
void add_codebooks(const Checkpoint & checkpoint, std::vector<ChosenLayer> & layers,
                   const WriteOptions & options);

// Fills in the sums of all candidates. Reads each layer that has several once; refuses the values that
// writing would refuse. The same for any number of threads. notes: where what is measured is noted, and may
// be found; NULL: nowhere.
void measure(const Checkpoint & checkpoint, std::vector<ChosenLayer> & layers, const WriteOptions & options,
             Journal * notes = nullptr);

} // namespace sd
