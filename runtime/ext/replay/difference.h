// The first thing in which two keys differ. Promise: found without memory from the heap and put into words
// only when somebody reads it, from copies: the tensors it speaks of may be gone by then.
#pragma once

#include "runtime/ext/replay/key.h"
#include "runtime/ext/verdict/verdict.h"

namespace ggml::ext {

struct Difference {
    ggml_ext_reason reason = GGML_EXT_REASON_NONE;
    const char * what = nullptr; // "ne"; null: `was` and `is` speak for themselves
    int index = -1;              // of `what`; -1: it has none
    int node = -1, src = -1;     // the tensor is this node, or this source of it
    char name[GGML_MAX_NAME] = {};
    uint64_t was = 0, is = 0;

    void describe(Verdict & verdict) const;
};

// Order: structure, metadata, kernels, addresses, stream, workspace; what usually follows from another
// difference comes after it (a fused node has no address). builder: made `is`, whose graph exists.
Difference first_difference(const Key & was, const Key & is, const KeyBuilder & builder);

// How far down that order two keys agree, to find out which of several is closest; 0: not even in size.
int agreement(const Difference & difference);

} // namespace ggml::ext
