#include "ops/quantize_i8_convrot/fuse_test.h"

namespace sd::test {
namespace {

constexpr const char * kRule = "sd.fuse.swiglu_convrot.cpu";

Build split(ggml_tensor * a, ggml_tensor * b, int group) {
    return [=](ggml_context * ctx) {
        return ggml_quantize_i8_convrot(ctx, ggml_swiglu_split(ctx, a, b), group);
    };
}
Build halves(ggml_tensor * a, int group, bool swapped) {
    return [=](ggml_context * ctx) {
        ggml_tensor * y = swapped ? ggml_swiglu_swapped(ctx, a) : ggml_swiglu(ctx, a);
        return ggml_quantize_i8_convrot(ctx, y, group);
    };
}

TEST(swiglu_convrot, gives_the_bytes_of_the_nodes) {
    for (const Length & l : kLengths) {
        Inputs in{uint32_t(l.k)};
        const auto values = [&](int64_t k) { return in.floats({k, 5, 2, 1}, Rows::contiguous, -9.0f, 9.0f); };
        check_fused(split(values(l.k), values(l.k), l.group), 1, length_text(l));
        check_fused(halves(values(2 * l.k), l.group, false), 1, length_text(l) + ", halves");
        check_fused(halves(values(2 * l.k), l.group, true), 1, length_text(l) + ", halves swapped");
    }
}

TEST(swiglu_convrot, shares_rows_between_threads) {
    Inputs in;
    check_fused(split(in.floats({512, 201, 1, 1}), in.floats({512, 201, 1, 1}), 256), 1, "many rows");
}

TEST(swiglu_convrot, reads_strided_rows) {
    Inputs in;
    for (const Rows a : {Rows::contiguous, Rows::padded}) {
        for (const Rows b : {Rows::contiguous, Rows::padded})
            check_fused(split(in.floats({64, 4, 3, 2}, a), in.floats({64, 4, 3, 2}, b), 64), 1, "strides");
        check_fused(halves(in.floats({64, 4, 3, 2}, a), 16, false), 1, "strides, halves");
        check_fused(halves(in.floats({64, 4, 3, 2}, a), 16, true), 1, "strides, halves swapped");
    }
}

TEST(swiglu_convrot, keeps_special_rows_to_themselves) {
    Inputs in;
    ggml_tensor *a = in.floats({256, 8, 1, 1}), *b = in.floats({256, 8, 1, 1});
    make_rows_special(a);
    check_fused(split(a, b, 64), 1, "special gates");
    check_fused(split(b, a, 64), 1, "special values");
    check_fused(halves(a, 16, false), 1, "special rows");
}

TEST(swiglu_convrot, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor *a = in.floats({64, 33, 1, 1}), *b = in.floats({64, 33, 1, 1});
    check_over_inputs(split(a, b, 16), 1, {a, b});
}

TEST(swiglu_convrot, fires_between_the_layers_of_a_block) {
    Inputs in;
    ggml_tensor *x = in.floats({16, 6, 1, 1}), *gate = in.bytes({16, 64, 1, 1});
    ggml_tensor *up = in.bytes({16, 64, 1, 1}), *down = in.bytes({64, 16, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        ggml_tensor * q = ggml_quantize_i8_convrot(ctx, x, 16);
        ggml_tensor * a = ggml_mul_mat_i8_tensorwise(ctx, gate, q, nullptr, nullptr, 16);
        ggml_tensor * b = ggml_mul_mat_i8_tensorwise(ctx, up, q, nullptr, nullptr, 16);
        return ggml_mul_mat_i8_tensorwise(ctx, down, split(a, b, 64)(ctx), nullptr, nullptr, 64);
    };
    check_fused(build, 1, "a block");
}

TEST(swiglu_convrot, is_refused_when_somebody_else_reads_the_product) {
    Inputs in;
    ggml_tensor *a = in.floats({64, 6, 1, 1}), *b = in.floats({64, 6, 1, 1});
    check_not_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * y = ggml_swiglu_split(ctx, a, b);
            return ggml_concat(ctx, ggml_quantize_i8_convrot(ctx, y, 64),
                               ggml_quantize_i8_convrot(ctx, y, 16), 1);
        },
        "another group");
    check_not_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * y = ggml_swiglu_split(ctx, a, b);
            ggml_set_output(y);
            return ggml_quantize_i8_convrot(ctx, y, 64);
        },
        "an output");
}

TEST(swiglu_convrot, is_refused_for_other_forms) {
    Inputs in;
    ggml_tensor *a = in.floats({64, 6, 1, 1}), *b = in.floats({64, 6, 1, 1});
    check_not_fused(
        [=](ggml_context * ctx) { return ggml_quantize_i8_convrot(ctx, ggml_geglu_split(ctx, a, b), 16); },
        "another activation");
    check_not_fused(
        [=](ggml_context * ctx) {
            return ggml_quantize_i8_convrot(ctx, ggml_swiglu_oai(ctx, a, b, 1.702f, 7.0f), 16);
        },
        "the limited form");
    check_not_fused(split(a, b, 16), "the rule is switched off", {.disabled = {kRule}});
}

// user_data: NULL for two tensors, otherwise whether the halves of one are swapped.
ggml_tensor * fuzz_example(ggml_context * ctx, void * swapped) {
    ggml_tensor *a = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 3, 4, 2), *b = ggml_dup_tensor(ctx, a);
    ggml_set_input(a);
    if (swapped != nullptr) return halves(a, 16, *static_cast<bool *>(swapped))(ctx);
    ggml_set_input(b);
    return split(a, b, 16)(ctx);
}

TEST(swiglu_convrot, stays_right_when_graphs_are_changed) {
    bool yes = true, no = false;
    fuzz(kRule, fuzz_example, nullptr, 1);
    fuzz(kRule, fuzz_example, &yes, 2);
    fuzz(kRule, fuzz_example, &no, 3);
}

} // namespace
} // namespace sd::test
