// Rules to attack: each computes two or three elementwise nodes as one step, through strides and broadcasts,
// and can be given a fault that people who write kernels make.
#pragma once

#include "tests/support/ext_kit.h"

#include <functional>
#include <vector>

namespace ggml::test {

// A float operand in memory that code may read and write.
struct Elements {
    ggml_tensor layout;
    char * base = nullptr;

    int64_t count() const { return ggml_nelements(&layout); }
    bool is_empty() const { return ggml_is_empty(&layout); }
    // Element at these coordinates of a larger tensor that this one repeats into.
    float & repeated(const int64_t * i) const;
    // Element by its number in memory, or the last; what a kernel reads that believes its operand is dense.
    float & dense(int64_t i) const;
};

// Calls fn(coordinates, number) for each element of a shape.
void for_each_element(const ggml_tensor & shape, const std::function<void(const int64_t *, int64_t)> & fn);

// Runs fn over the tensors' memory: at once on the CPU, queued on a test device.
ggml_status on_elements(const ggml_ext_execute_params & params,
                        const std::vector<const ggml_tensor *> & tensors,
                        std::function<void(const std::vector<Elements> &)> fn);

// a * b + c, or a * b - c with `minus`, optionally copied to where the last node says.
struct ChainRule {
    enum Fault {
        none,
        scratch,          // keeps the product in an input
        full_operand,     // reads a repeated summand as if it were full
        row_operand,      // reads a full summand as if one row repeated
        unsafe_alias,     // keeps the product in the result while it still reads the summand
        wrong_order,      // moves the product behind whatever stands before the sum
        swapped_operands, // takes the product for the first operand
        dense_operands,   // ignores strides
        forgets_nan,      // gives 0 where the result is NaN
    };
    Fault fault = none;
    bool minus = false, copied = false;
};
KernelKit chain_rule(const char * name, const ChainRule & rule);

// scale, then + c; `ignores_bias`: a parameter that is nearly always 0.
KernelKit scale_add_rule(const char * name, bool ignores_bias);

// Multiplies in place of the device itself, without looking at strides.
KernelKit dense_product_kernel(const char * name);

// An operator "gain" of one operand with two attributes, its kernel, and a rule for gain, then + c.
struct Gain {
    float factor, offset;
};
ggml_ext_op_t gain_op();
KernelKit gain_kernel();
KernelKit gain_add_rule(const char * name, bool ignores_offset);

// Any step: each of its nodes by the CPU's reference, with storage of its own for the intermediates.
ggml_status run_as_written(const ggml_ext_execute_params & params);

} // namespace ggml::test
