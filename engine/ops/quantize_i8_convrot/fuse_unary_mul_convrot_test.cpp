#include "ops/quantize_i8_convrot/fuse_test.h"

namespace sd::test {
namespace {

struct Rule {
    const char * name;
    ggml_tensor * (*activate)(ggml_context *, ggml_tensor *);
    ggml_tensor * (*activate_inplace)(ggml_context *, ggml_tensor *);
};
constexpr Rule kRules[] = {
    {"sd.fuse.silu_mul_convrot.cpu", ggml_silu, ggml_silu_inplace},
    {"sd.fuse.sigmoid_mul_convrot.cpu", ggml_sigmoid, ggml_sigmoid_inplace},
};

// activation(a) * b or b * activation(a)
Build chain(const Rule & rule, ggml_tensor * a, ggml_tensor * b, int group, bool swapped = false) {
    return [=](ggml_context * ctx) {
        ggml_tensor * gate = rule.activate(ctx, a);
        ggml_tensor * y = swapped ? ggml_mul(ctx, b, gate) : ggml_mul(ctx, gate, b);
        return ggml_quantize_i8_convrot(ctx, y, group);
    };
}

TEST(unary_mul_convrot, gives_the_bytes_of_the_nodes) {
    for (const Rule & rule : kRules) {
        for (const Length & l : kLengths) {
            Inputs in{uint32_t(l.k)};
            ggml_tensor * a = in.floats({l.k, 5, 2, 1}, Rows::contiguous, -9.0f, 9.0f);
            ggml_tensor * b = in.floats({l.k, 5, 2, 1});
            check_fused(chain(rule, a, b, l.group), 2, rule.name + length_text(l));
            check_fused(chain(rule, a, b, l.group, true), 2, rule.name + length_text(l) + ", swapped");
        }
    }
}

TEST(unary_mul_convrot, reads_strided_rows) {
    Inputs in;
    for (const Rule & rule : kRules) {
        for (const Rows a : {Rows::contiguous, Rows::padded}) {
            for (const Rows b : {Rows::contiguous, Rows::padded, Rows::permuted})
                check_fused(chain(rule, in.floats({64, 4, 3, 2}, a), in.floats({64, 4, 3, 2}, b), 64, true),
                            2, "strides");
        }
    }
}

TEST(unary_mul_convrot, keeps_special_rows_to_themselves) {
    Inputs in;
    ggml_tensor *a = in.floats({256, 8, 1, 1}), *b = in.floats({256, 8, 1, 1});
    make_rows_special(a);
    for (const Rule & rule : kRules) {
        check_fused(chain(rule, a, b, 64), 2, "special gates");
        check_fused(chain(rule, b, a, 64), 2, "special values");
    }
}

TEST(unary_mul_convrot, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor *a = in.floats({64, 33, 1, 1}), *b = in.floats({64, 33, 1, 1});
    for (const Rule & rule : kRules) check_over_inputs(chain(rule, a, b, 16), 2, {a, b});
}

TEST(unary_mul_convrot, fires_when_the_gated_is_computed_after_the_gate) {
    Inputs in;
    ggml_tensor *x = in.floats({16, 6, 1, 1}), *w1 = in.bytes({16, 64, 1, 1}), *w2 = in.bytes({16, 64, 1, 1});
    for (const Rule & rule : kRules) {
        for (const bool swapped : {false, true}) {
            const Build build = [=](ggml_context * ctx) {
                ggml_tensor * q = ggml_quantize_i8_convrot(ctx, x, 16);
                ggml_tensor * a = ggml_mul_mat_i8_tensorwise(ctx, w1, q, nullptr, nullptr, 16);
                ggml_tensor * b = ggml_mul_mat_i8_tensorwise(ctx, w2, q, nullptr, nullptr, 16);
                return chain(rule, a, b, 64, swapped)(ctx);
            };
            check_fused(build, 2, "a block");
        }
    }
}

TEST(unary_mul_convrot, is_refused_when_somebody_else_reads_an_intermediate) {
    Inputs in;
    ggml_tensor *a = in.floats({64, 6, 1, 1}), *b = in.floats({64, 6, 1, 1});
    for (const Rule & rule : kRules) {
        const auto twice = [=](bool the_gate) {
            return [=](ggml_context * ctx) {
                ggml_tensor * gate = rule.activate(ctx, a);
                ggml_tensor * y = ggml_mul(ctx, gate, b);
                ggml_tensor * q = ggml_quantize_i8_convrot(ctx, y, 64);
                return ggml_concat(ctx, q, ggml_quantize_i8_convrot(ctx, the_gate ? gate : y, 16), 1);
            };
        };
        check_not_fused(twice(true), "the gate is read");
        check_not_fused(twice(false), "the product is read");
        const auto output = [=](bool the_gate) {
            return [=](ggml_context * ctx) {
                ggml_tensor * gate = rule.activate(ctx, a);
                ggml_tensor * y = ggml_mul(ctx, gate, b);
                ggml_set_output(the_gate ? gate : y);
                return ggml_quantize_i8_convrot(ctx, y, 64);
            };
        };
        check_not_fused(output(true), "the gate is an output");
        check_not_fused(output(false), "the product is an output");
    }
}

TEST(unary_mul_convrot, is_refused_for_other_forms) {
    Inputs in;
    ggml_tensor *a = in.floats({64, 6, 1, 1}), *b = in.floats({64, 6, 1, 1}), *row = in.floats({64, 1, 1, 1});
    for (const Rule & rule : kRules) {
        check_not_fused(chain(rule, a, row, 16), "the gated is repeated");
        check_not_fused(chain(rule, row, a, 16, true), "the gate is repeated");
        check_not_fused(chain(rule, a, in.floats({64, 6, 1, 1}, Rows::sparse), 16), "gaps");
        check_not_fused(
            [=](ggml_context * ctx) {
                ggml_tensor * gate = rule.activate(ctx, a);
                return ggml_quantize_i8_convrot(ctx, ggml_mul(ctx, gate, gate), 16);
            },
            "the gate by itself");
        check_not_fused(
            [=](ggml_context * ctx) {
                ggml_tensor * gate = rule.activate_inplace(ctx, ggml_neg(ctx, a));
                return ggml_quantize_i8_convrot(ctx, ggml_mul(ctx, gate, b), 16);
            },
            "the gate over its input");
        check_not_fused(chain({"", ggml_gelu, ggml_gelu_inplace}, a, b, 16), "another activation");
        check_not_fused(chain(rule, a, b, 16), "the rule is switched off", {.disabled = {rule.name}});
    }
    // Both may be gates: each rule takes its own.
    check_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * y = ggml_mul(ctx, ggml_silu(ctx, a), ggml_sigmoid(ctx, b));
            return ggml_quantize_i8_convrot(ctx, y, 16);
        },
        2, "two activations");
}

ggml_tensor * fuzz_example(ggml_context * ctx, void * rule) {
    ggml_tensor *a = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 3, 4, 2), *b = ggml_dup_tensor(ctx, a);
    ggml_set_input(a);
    ggml_set_input(b);
    return chain(*static_cast<const Rule *>(rule), a, b, 16)(ctx);
}

TEST(unary_mul_convrot, stays_right_when_graphs_are_changed) {
    for (const Rule & rule : kRules) fuzz(rule.name, fuzz_example, const_cast<Rule *>(&rule), 1);
}

} // namespace
} // namespace sd::test
