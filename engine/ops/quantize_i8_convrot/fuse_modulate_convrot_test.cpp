#include "ops/quantize_i8_convrot/fuse_test.h"

namespace sd::test {
namespace {

constexpr const char * kRule = "sd.fuse.modulate_convrot.cpu";

Build chain(ggml_tensor * x, ggml_tensor * shift, ggml_tensor * scale, int group) {
    return [=](ggml_context * ctx) {
        return ggml_quantize_i8_convrot(ctx, ggml_ext_modulate(ctx, x, shift, scale), group);
    };
}

TEST(modulate_convrot, gives_the_bytes_of_the_nodes) {
    for (const Length & l : kLengths) {
        Inputs in{uint32_t(l.k)};
        ggml_tensor *x = in.floats({l.k, 5, 2, 1}), *scale = in.floats({l.k, 1, 1, 1});
        check_fused(chain(x, in.floats({l.k, 1, 1, 1}), scale, l.group), 1, length_text(l));
        check_fused(chain(x, nullptr, scale, l.group), 1, length_text(l) + ", no shift");
    }
}

TEST(modulate_convrot, shares_rows_between_threads) {
    Inputs in;
    check_fused(chain(in.floats({512, 301, 1, 1}), in.floats({512, 1, 1, 1}), in.floats({512, 1, 1, 1}), 256),
                1, "many rows");
}

TEST(modulate_convrot, repeats_rows_of_scale_and_shift) {
    Inputs in;
    const Sizes forms[] = {{64, 1, 1, 1}, {64, 1, 3, 1}, {64, 4, 1, 1}, {64, 2, 3, 2}, {64, 4, 3, 2}};
    for (const Sizes & scale : forms) {
        for (const Sizes & shift : forms)
            check_fused(chain(in.floats({64, 4, 3, 2}), in.floats(shift), in.floats(scale), 16), 1, "forms");
    }
}

TEST(modulate_convrot, reads_strided_rows) {
    Inputs in;
    for (const Rows x : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        for (const Rows factors : {Rows::contiguous, Rows::padded, Rows::permuted}) {
            check_fused(chain(in.floats({64, 4, 3, 2}, x), in.floats({64, 1, 3, 2}, factors),
                              in.floats({64, 4, 1, 2}, factors), 64),
                        1, "strides");
        }
    }
}

TEST(modulate_convrot, keeps_special_rows_to_themselves) {
    Inputs in;
    ggml_tensor * x = in.floats({256, 8, 1, 1});
    make_rows_special(x);
    for (const int group : {1, 16, 256})
        check_fused(chain(x, in.floats({256, 1, 1, 1}), in.floats({256, 1, 1, 1}), group), 1, "special rows");
    check_fused(chain(x, nullptr, in.floats({256, 1, 1, 1}, Rows::contiguous, 0.0f, 9.0f), 64), 1,
                "special rows");
}

TEST(modulate_convrot, may_write_over_its_inputs) {
    Inputs in;
    ggml_tensor * x = in.floats({64, 33, 1, 1});
    ggml_tensor *scale = in.floats({64, 60, 1, 1}), *shift = in.floats({64, 60, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        return chain(x, ggml_view_1d(ctx, shift, 64, shift->nb[1]),
                     ggml_view_1d(ctx, scale, 64, scale->nb[1]), 16)(ctx);
    };
    check_over_inputs(build, 1, {x, scale, shift});
}

TEST(modulate_convrot, fires_when_the_table_is_computed_in_between_and_several_layers_read_the_result) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 6, 1, 1}), *a = in.floats({384, 1, 1, 1}), *b = in.floats({384, 1, 1, 1});
    ggml_tensor *w1 = in.bytes({64, 8, 1, 1}), *w2 = in.bytes({64, 8, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        ggml_tensor * table = ggml_add(ctx, a, b);
        ggml_tensor * scale = ggml_view_1d(ctx, table, 64, 0);
        ggml_tensor * shift = ggml_view_1d(ctx, table, 64, 64 * sizeof(float));
        ggml_tensor * q = chain(ggml_neg(ctx, x), shift, scale, 64)(ctx);
        return ggml_add(ctx, ggml_mul_mat_i8_tensorwise(ctx, w1, q, nullptr, nullptr, 64),
                        ggml_mul_mat_i8_tensorwise(ctx, w2, q, nullptr, nullptr, 64));
    };
    check_fused(build, 1, "two layers");
}

TEST(modulate_convrot, is_refused_when_somebody_else_reads_the_modulation) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 6, 1, 1}), *scale = in.floats({64, 1, 1, 1});
    const auto with = [=](std::function<ggml_tensor *(ggml_context *, ggml_tensor *)> reader) {
        return [=](ggml_context * ctx) {
            ggml_tensor * m = ggml_ext_modulate(ctx, x, nullptr, scale);
            ggml_tensor * q = ggml_quantize_i8_convrot(ctx, m, 64);
            ggml_tensor * other = reader(ctx, m);
            if (other == nullptr) return q;
            return ggml_concat(ctx, ggml_reshape_1d(ctx, q, ggml_nelements(q)),
                               ggml_reshape_1d(ctx, other, ggml_nelements(other)), 0);
        };
    };
    check_not_fused(
        with([](ggml_context * ctx, ggml_tensor * m) { return ggml_quantize_i8_convrot(ctx, m, 16); }),
        "another group");
    check_not_fused(with([](ggml_context * ctx, ggml_tensor * m) {
                        return ggml_quantize_i8_convrot(ctx, ggml_view_2d(ctx, m, 64, 2, m->nb[1], 0), 64);
                    }),
                    "a view");
    check_not_fused(with([](ggml_context *, ggml_tensor * m) -> ggml_tensor * {
                        ggml_set_output(m);
                        return nullptr;
                    }),
                    "an output");
}

TEST(modulate_convrot, is_refused_for_other_forms) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 4, 1, 1}), *row = in.floats({64, 1, 1, 1});
    for (const Sizes & ne : {Sizes{1, 1, 1, 1}, {32, 1, 1, 1}, {16, 4, 1, 1}, {1, 4, 1, 1}}) {
        check_not_fused(chain(x, row, in.floats(ne), 16), "scale of " + std::to_string(ne[0]));
        check_not_fused(chain(x, in.floats(ne), row, 16), "shift of " + std::to_string(ne[0]));
    }
    check_not_fused(chain(in.floats({64, 4, 1, 1}, Rows::sparse), row, row, 16), "x with gaps");
    check_not_fused(chain(x, row, in.floats({64, 1, 1, 1}, Rows::sparse), 16), "scale with gaps");
    check_not_fused(
        [=](ggml_context * ctx) { return ggml_quantize_i8_convrot(ctx, ggml_add(ctx, x, row), 16); },
        "another operator");
    check_not_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * m = ggml_ext_modulate(ctx, x, row, row);
            return ggml_quantize_i8_convrot(ctx, ggml_reshape_1d(ctx, m, 256), 16);
        },
        "reshaped in between");
    check_not_fused(chain(x, row, row, 16), "the rule is switched off", {.disabled = {kRule}});
}

ggml_tensor * fuzz_example(ggml_context * ctx, void * with_shift) {
    ggml_tensor * x = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 3, 4, 2);
    ggml_tensor * scale = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 32);
    ggml_tensor * shift = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 1, 1, 2);
    for (ggml_tensor * t : {x, scale, shift}) ggml_set_input(t);
    return chain(x, with_shift != nullptr ? shift : nullptr, scale, 16)(ctx);
}

TEST(modulate_convrot, stays_right_when_graphs_are_changed) {
    bool yes = true;
    fuzz(kRule, fuzz_example, &yes, 1);
    fuzz(kRule, fuzz_example, nullptr, 2);
}

} // namespace
} // namespace sd::test
