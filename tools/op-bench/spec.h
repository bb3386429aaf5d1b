// A node by value: operator, operands with their layouts, attributes. It is what explain writes about a node,
// and what an operator's case makes from named parameters, so both ways lead to the same measurement.
#pragma once

#include "ggml.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace op_bench {

using Sizes = std::array<int64_t, GGML_MAX_DIMS>;

struct Operand {
    bool present = false;
    ggml_type type = GGML_TYPE_F32;
    Sizes ne = {1, 1, 1, 1};
    std::array<size_t, GGML_MAX_DIMS> nb = {}; // as in a tensor: bytes from element to element

    static Operand contiguous(ggml_type type, Sizes ne);
    static Operand of(const ggml_tensor * t); // NULL: one that is left out
    bool operator==(const Operand &) const = default;
};

struct NodeSpec {
    std::string op; // as explain names it: "MUL_MAT", "sd.linear_i8.v1"
    std::vector<Operand> inputs;
    std::vector<uint8_t>
        attrs; // of a registered operator; op_params of others without the zeros at their end

    static NodeSpec of(const ggml_tensor * node);
    bool operator==(const NodeSpec &) const = default;
};

// "f32 [64, 8]", trailing ones left out, "strided" behind it where elements have gaps or another order.
std::string operand_text(const Operand & operand);
// All that are there, with commas.
std::string inputs_text(const NodeSpec & spec);

// Bytes of the elements, gaps not counted. Throws Failure for sizes that are negative or beyond 2^46 bytes,
// so that sums over the operands of a node cannot overflow.
size_t element_bytes(const Operand & operand);

// Operands as leafs of ctx, NULL for those left out. Those that are not contiguous are views of owners of
// their own. Throws Failure for layouts that no view has.
std::vector<ggml_tensor *> make_operands(ggml_context * ctx, const NodeSpec & spec);

// op_params or attributes as ggml's builders take them; 0 behind the end.
float attr_float(const NodeSpec & spec, size_t index);
int32_t attr_int(const NodeSpec & spec, size_t index);

} // namespace op_bench
