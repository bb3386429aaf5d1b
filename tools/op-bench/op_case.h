// What op-bench must know of an operator. Each file in cases/ describes one or a few and adds them to the
// list in cases.cpp; everything else is the same for all.
#pragma once

#include "ggml-ext-tools.h"
#include "tools/op-bench/shape.h"
#include "tools/op-bench/spec.h"

#include <vector>

namespace op_bench {

// What arithmetic a job is bounded by, beside reading and writing its operands.
enum class Arithmetic { none, fma, int8_dot };

struct Work {
    double operations = 0; // a multiply-add is two
    Arithmetic arithmetic = Arithmetic::none;
};

struct OpCase {
    std::string op; // as NodeSpec::op
    std::string help;
    std::vector<Param> params;
    std::string example; // a shape that takes no time, for tests; every other parameter as it is initially

    NodeSpec (*from_shape)(const Shape & shape);

    // Makes the node over `inputs`, which have the layouts of the spec. Never called with less or more inputs
    // than the spec has. Throws Failure where they do not fit: a builder of ggml would end the program.
    ggml_tensor * (*build)(ggml_context * ctx, const NodeSpec & spec,
                           const std::vector<ggml_tensor *> & inputs);

    Work (*work)(const ggml_tensor * node);

    // Changes the random contents of inputs where the operator could not use them. NULL: nothing to do.
    void (*prepare_inputs)(const ggml_tensor * node);

    // How far an implementation may be from the reference.
    ggml_ext_tolerance tolerance;
};

const std::vector<OpCase> & all_cases();

// By the whole name, or without the version of a registered operator ("sd.linear_i8"), or in small letters
// ("mul_mat"). NULL: none.
const OpCase * find_case(std::string_view name);

// The rooms of cases/.
void add_linear_i8(std::vector<OpCase> & cases);
void add_linear_w4(std::vector<OpCase> & cases);
void add_row_operators(std::vector<OpCase> & cases);
void add_matmul(std::vector<OpCase> & cases);
void add_attention(std::vector<OpCase> & cases);
void add_builtin_rows(std::vector<OpCase> & cases);

// For OpCase::build of registered operators: their own infer says what does not fit. n_inputs: how many it is
// created with, for a node does not tell how many were left out at the end.
ggml_tensor * create_registered(ggml_context * ctx, const NodeSpec & spec,
                                const std::vector<ggml_tensor *> & inputs, size_t n_inputs);
template <size_t n_inputs>
ggml_tensor * build_registered(ggml_context * ctx, const NodeSpec & spec,
                               const std::vector<ggml_tensor *> & inputs) {
    return create_registered(ctx, spec, inputs, n_inputs);
}

// For OpCase::from_shape of registered operators: what `build` makes in a context for metadata. Throws
// Failure with the operator's words when it makes nothing.
class SpecBuilder {
  public:
    SpecBuilder();
    ~SpecBuilder();
    SpecBuilder(const SpecBuilder &) = delete;
    SpecBuilder & operator=(const SpecBuilder &) = delete;
    ggml_context * ctx() const { return ctx_; }
    ggml_tensor * operand(ggml_type type, Sizes ne) const; // checked as element_bytes does
    NodeSpec finish(const ggml_tensor * node) const;

  private:
    ggml_context * ctx_;
};

// For OpCase::prepare_inputs: usable scales where x are packed activations of `rows` rows, which random bytes
// are not. Plain codes stay as they are.
void set_packed_scales(const ggml_tensor * x, int64_t rows);

// For OpCase::build of built-in operators.
void require(bool fits, const NodeSpec & spec, const char * words);
void require_inputs(const NodeSpec & spec, size_t least, size_t most); // none of the first `least` left out
bool repeats(int64_t part, int64_t whole);

} // namespace op_bench
