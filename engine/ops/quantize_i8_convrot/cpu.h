// The walk over rows that quantization and the fusion rules ending in it share, and the making of such rules.
//
// A rule computes a row into the thread's scratch memory, where rotation and quantization find it in the
// cache: nothing between the inputs and the codes reaches memory. Promise: bytes are those of the nodes one
// by one, whatever the threads and instruction sets.
#pragma once

#include "ggml-ext.h"
#include "kernels/cpu/rotate_quantize.h"
#include "ops/common/chain.h"
#include "ops/common/rows.h"

#include <cstdint>

namespace sd {

struct ConvrotWalk {
    const ggml_tensor * const * nodes; // of the step
    const ggml_tensor * quantize;      // the last of them
    RotateQuantize kernel;
    // Row r of what is quantized: where it lies, or made in `scratch`, which has room for it.
    const float * (*row)(const ConvrotWalk & walk, Row r, float * scratch);
    // The rows of activations that `row` reads, each as long as what it makes, for memory to bring early.
    // NULL: it reads where the row lies.
    void (*sources)(const ConvrotWalk & walk, Row r, const float * (&rows)[2]) = nullptr;
};

// prepare and destroy of every kernel that calls run_convrot, and what its execute does.
ggml_status prepare_convrot(const ggml_ext_prepare_params * params, ggml_ext_prepared * prepared, void *);
void destroy_convrot(void * state, void *);
ggml_status run_convrot(const ggml_ext_execute_params & params, const void * state, const ConvrotWalk & walk);

// A fusion rule that ends in quantize_i8_convrot.
struct ConvrotRule {
    ggml_op op; // of the first node
    // The nodes that the rule computes together with the last one of `chain`, a quantize_i8_convrot, are put
    // ahead of it. False, with the reason: it does not compute it.
    bool (*complete)(Chain & chain, ggml_ext_why_t why);
    decltype(ConvrotWalk::row) row;
    decltype(ConvrotWalk::sources) sources;
};

// The rule lives as long as the process; op: where its first node is of a registered operator. A name the
// device has already is success.
ggml_ext_status add_convrot_rule(ggml_backend_dev_t device, const char * name, const ConvrotRule & rule,
                                 ggml_ext_op_t op = nullptr);

// What rules ask: plain floats side by side in each row, that do not come from the chain itself.
bool is_rows_input(const Chain & chain, const ggml_tensor * t, ggml_ext_why_t why);
// The same, and one row of them is repeated over x in the dimensions 1 to 3.
bool is_repeated_input(const Chain & chain, const ggml_tensor * t, const ggml_tensor * x, ggml_ext_why_t why);

// The rules, see fusions.inc.
ggml_ext_status register_modulate_convrot(ggml_backend_dev_t device, const char * name);
ggml_ext_status register_rms_norm_convrot(ggml_backend_dev_t device, const char * name);
ggml_ext_status register_swiglu_convrot(ggml_backend_dev_t device, const char * name);
ggml_ext_status register_silu_mul_convrot(ggml_backend_dev_t device, const char * name);
ggml_ext_status register_sigmoid_mul_convrot(ggml_backend_dev_t device, const char * name);

} // namespace sd
