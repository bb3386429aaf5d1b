#include "ggml-ext.h"
#include "tools/op-bench/failure.h"
#include "tools/op-bench/op_case.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace op_bench {
namespace {

std::vector<OpCase> make_cases() {
    std::vector<OpCase> cases;
    for (const auto add :
         {add_linear_i8, add_linear_w4, add_row_operators, add_matmul, add_attention, add_builtin_rows})
        add(cases);
    return cases;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return out;
}

std::string without_version(const std::string & op) {
    const size_t dot = op.rfind(".v");
    return dot == std::string::npos ? op : op.substr(0, dot);
}

} // namespace

const std::vector<OpCase> & all_cases() {
    static const std::vector<OpCase> cases = make_cases();
    return cases;
}

const OpCase * find_case(std::string_view name) {
    for (const OpCase & c : all_cases()) {
        if (c.op == name || without_version(c.op) == name || lower(c.op) == name) return &c;
    }
    return nullptr;
}

ggml_tensor * create_registered(ggml_context * ctx, const NodeSpec & spec,
                                const std::vector<ggml_tensor *> & inputs, size_t n_inputs) {
    std::vector<ggml_tensor *> sources = inputs;
    sources.resize(std::max(n_inputs, inputs.size()));
    ggml_tensor * node = ggml_ext_op_create(ctx, ggml_ext_find_op(spec.op.c_str()), sources.data(),
                                            int(sources.size()), spec.attrs.data(), spec.attrs.size());
    if (node == nullptr) throw Failure(ggml_ext_last_message());
    return node;
}

SpecBuilder::SpecBuilder() : ctx_(ggml_init({64 * ggml_tensor_overhead(), nullptr, true})) {
    if (ctx_ == nullptr) throw Failure("no memory for a context");
}

SpecBuilder::~SpecBuilder() { ggml_free(ctx_); }

ggml_tensor * SpecBuilder::operand(ggml_type type, Sizes ne) const {
    (void)Operand::contiguous(type, ne);
    return ggml_new_tensor(ctx_, type, GGML_MAX_DIMS, ne.data());
}

NodeSpec SpecBuilder::finish(const ggml_tensor * node) const {
    if (node == nullptr) throw Failure(ggml_ext_last_message());
    return NodeSpec::of(node);
}

// Packed activations have more rows than there were: behind those of codes, whose number is rounded up to a
// multiple of four, lie their scales.
void set_packed_scales(const ggml_tensor * x, int64_t rows) {
    const int64_t padded = (rows + 3) / 4 * 4;
    if (ggml_nrows(x) <= padded) return;
    char * scales = static_cast<char *>(x->data) + padded * x->ne[0];
    const float scale = 1.0f / 64;
    for (int64_t row = 0; row < padded; ++row) std::memcpy(scales + 4 * row, &scale, sizeof(scale));
}

void require(bool fits, const NodeSpec & spec, const char * words) {
    if (!fits) throw Failure(spec.op + " of " + inputs_text(spec) + ": " + words);
}

void require_inputs(const NodeSpec & spec, size_t least, size_t most) {
    bool fits = spec.inputs.size() >= least && spec.inputs.size() <= most;
    for (size_t i = 0; fits && i < least; ++i) fits = spec.inputs[i].present;
    require(fits, spec, "another number of inputs than op-bench knows");
}

bool repeats(int64_t part, int64_t whole) { return part > 0 && whole % part == 0; }

} // namespace op_bench
