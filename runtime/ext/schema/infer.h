// Asking an operator what it makes of its inputs. Promise: what comes back can exist as a tensor.
#pragma once

#include "runtime/ext/registry/registry.h"
#include "runtime/tensor/layout.h"

namespace ggml::ext {

struct Inferred {
    ggml_type type = GGML_TYPE_F32;
    Shape ne = {1, 1, 1, 1};
};

// False with the reason in `why`.
bool infer(const ggml_ext_op & op, ggml_tensor * const * inputs, int n_inputs, const void * attrs,
           Inferred & result, Verdict & why);

} // namespace ggml::ext
