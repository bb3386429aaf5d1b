// What a node reads, writes and aliases. Promise: the only answer to "do these overlap?" in the extension
// core; metadata only, no tensor data is touched. Where storage does not exist yet, ownership decides: an
// owner that will be given storage shares it with nobody who is alive at the same time.
#pragma once

#include "ggml-ext.h"

namespace ggml::ext {

// The tensor whose storage this one shows: itself, or the end of its chain of views.
const ggml_tensor * storage_owner(const ggml_tensor * tensor) noexcept;

// Has the owner's storage been given by somebody already?
bool is_placed(const ggml_tensor * tensor) noexcept;

ggml_ext_overlap overlap(const ggml_tensor * a, const ggml_tensor * b) noexcept;

struct Effects {
    bool known = false;       // false: may read and write anything (functions of the caller)
    bool runs_code = false;   // false: only shows storage, or nothing is to be computed
    bool writes_view = false; // its result lies in storage owned by another tensor
};

Effects effects_of(const ggml_tensor * node) noexcept;

// Does `node` write its source j rather than read it (the destination of CPY and the like)?
bool source_is_destination(const ggml_tensor * node, int j) noexcept;

} // namespace ggml::ext
