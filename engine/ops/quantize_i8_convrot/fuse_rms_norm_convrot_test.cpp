#include "ops/quantize_i8_convrot/fuse_test.h"

namespace sd::test {
namespace {

constexpr const char * kRule = "sd.fuse.rms_norm_convrot.cpu";

// A chain to fuse and the ways to spoil it. NULL: left out.
struct NormChain {
    ggml_tensor *x, *weight, *shift, *scale;
    int group = 16;
    float eps = 1e-5f;
    bool swapped = false, mul_inplace = false, norm_inplace = false;
    // Called with norm, product and modulation; gives another reader of one of them, or NULL.
    std::function<ggml_tensor *(ggml_context *, ggml_tensor *, ggml_tensor *, ggml_tensor *)> then = {};

    int between() const { return 1 + (weight != nullptr) + (scale != nullptr); }

    ggml_tensor * operator()(ggml_context * ctx) const {
        ggml_tensor * norm = norm_inplace ? ggml_rms_norm_inplace(ctx, x, eps) : ggml_rms_norm(ctx, x, eps);
        ggml_tensor *mul = norm, *modulated = nullptr;
        if (weight != nullptr) {
            mul = mul_inplace ? ggml_mul_inplace(ctx, norm, weight)
                  : swapped   ? ggml_mul(ctx, weight, norm)
                              : ggml_mul(ctx, norm, weight);
        }
        modulated = scale != nullptr ? ggml_ext_modulate(ctx, mul, shift, scale) : mul;
        ggml_tensor * q = ggml_quantize_i8_convrot(ctx, modulated, group);
        ggml_tensor * other = then ? then(ctx, norm, mul, modulated) : nullptr;
        if (other == nullptr) return q;
        return ggml_concat(ctx, ggml_reshape_1d(ctx, q, ggml_nelements(q)),
                           ggml_reshape_1d(ctx, ggml_quantize_i8_convrot(ctx, other, 1), ggml_nelements(q)),
                           0);
    }
};

void check(const NormChain & chain, const std::string & what) { check_fused(chain, chain.between(), what); }

// With and without each part.
std::vector<NormChain> forms_of(const NormChain & whole) {
    std::vector<NormChain> forms(6, whole);
    for (size_t i = 0; i < forms.size(); ++i) {
        if (i % 2 == 1) forms[i].weight = nullptr;
        if (i >= 2) forms[i].shift = nullptr;
        if (i >= 4) forms[i].scale = nullptr;
    }
    return forms;
}

NormChain make(Inputs & in, int64_t k, int group, Rows rows = Rows::contiguous) {
    return {in.floats({k, 7, 2, 1}, rows), in.floats({k, 1, 1, 1}), in.floats({k, 1, 1, 1}),
            in.floats({k, 1, 1, 1}), group};
}

TEST(rms_norm_convrot, gives_the_bytes_of_the_nodes) {
    for (const Length & l : kLengths) {
        Inputs in{uint32_t(l.k)};
        for (const NormChain & chain : forms_of(make(in, l.k, l.group))) check(chain, length_text(l));
    }
}

TEST(rms_norm_convrot, shares_rows_between_threads) {
    Inputs in;
    NormChain chain = make(in, 256, 256);
    chain.x = in.floats({256, 401, 1, 1});
    check(chain, "many rows");
}

TEST(rms_norm_convrot, reads_strided_rows_and_repeated_factors) {
    Inputs in;
    for (const Rows rows : {Rows::contiguous, Rows::padded, Rows::permuted}) {
        for (const Sizes & ne : {Sizes{64, 1, 1, 1}, {64, 1, 3, 1}, {64, 4, 1, 2}, {64, 2, 3, 2}}) {
            check({in.floats({64, 4, 3, 2}, rows), in.floats({64, 1, 1, 1}), in.floats(ne, rows),
                   in.floats(ne, rows)},
                  "strides");
            check({in.floats({64, 4, 3, 2}, rows), in.floats(ne, rows), nullptr, nullptr}, "weights");
        }
    }
}

TEST(rms_norm_convrot, uses_the_epsilon_of_the_norm) {
    Inputs in;
    NormChain chain = make(in, 64, 64);
    chain.x = in.floats({64, 5, 1, 1}, Rows::contiguous, -1e-3f, 1e-3f);
    for (const float eps : {0.0f, 1e-12f, 1e-6f, 0.5f}) {
        chain.eps = eps;
        check(chain, "eps " + std::to_string(eps));
    }
}

TEST(rms_norm_convrot, keeps_special_rows_to_themselves) {
    Inputs in;
    NormChain whole = make(in, 256, 256);
    make_rows_special(whole.x);
    for (const NormChain & chain : forms_of(whole)) check(chain, "special rows");
}

TEST(rms_norm_convrot, may_write_over_its_inputs) {
    Inputs in;
    NormChain chain = make(in, 64, 16);
    ggml_tensor * w = in.floats({64, 40, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        NormChain c = chain;
        c.weight = ggml_view_1d(ctx, w, 64, w->nb[1]);
        return c(ctx);
    };
    check_over_inputs(build, 3, {chain.x, w});
}

TEST(rms_norm_convrot, takes_factors_in_either_order_and_products_in_place) {
    Inputs in;
    NormChain chain = make(in, 64, 16);
    chain.mul_inplace = true;
    check(chain, "product in place");
    chain.mul_inplace = false;
    chain.weight = in.floats({64, 7, 2, 1});
    check(chain, "a weight for each row");
    chain.swapped = true;
    check(chain, "the norm as second factor");
}

TEST(rms_norm_convrot, fires_when_weight_and_table_are_computed_in_between) {
    Inputs in;
    const NormChain chain = make(in, 64, 64);
    ggml_tensor *one = in.floats({1, 1, 1, 1}), *a = in.floats({384, 1, 1, 1}),
                *b = in.floats({384, 1, 1, 1});
    const Build build = [=](ggml_context * ctx) {
        NormChain c = chain;
        c.weight = ggml_add(ctx, chain.weight, one);
        ggml_tensor * table = ggml_add(ctx, a, b);
        c.scale = ggml_view_1d(ctx, table, 64, 64 * sizeof(float));
        c.shift = ggml_view_1d(ctx, table, 64, 128 * sizeof(float));
        return c(ctx);
    };
    check_fused(build, 3, "as a block of a model computes them");
}

TEST(rms_norm_convrot, leaves_the_norm_to_its_other_readers) {
    Inputs in;
    NormChain chain = make(in, 64, 16);
    chain.then = [](ggml_context *, ggml_tensor * norm, ggml_tensor *, ggml_tensor *) { return norm; };
    check_fused(chain, 1, "the norm is read: modulation and quantization are left");
    chain.then = [](ggml_context * ctx, ggml_tensor *, ggml_tensor * mul, ggml_tensor *) {
        return ggml_view_4d(ctx, mul, 64, 7, 2, 1, mul->nb[1], mul->nb[2], mul->nb[3], 0);
    };
    check_fused(chain, 1, "a view of the product is read");
    chain.then = [](ggml_context *, ggml_tensor * norm, ggml_tensor *, ggml_tensor *) -> ggml_tensor * {
        ggml_set_output(norm);
        return nullptr;
    };
    check_fused(chain, 1, "the norm is an output");
    chain.then = [](ggml_context *, ggml_tensor *, ggml_tensor *, ggml_tensor * m) { return m; };
    check_not_fused(chain, "two quantizations");
}

TEST(rms_norm_convrot, is_refused_for_other_forms) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 4, 1, 1}), *w = in.floats({64, 1, 1, 1});
    for (const Sizes & ne : {Sizes{1, 1, 1, 1}, {32, 1, 1, 1}, {1, 4, 1, 1}})
        check_not_fused(NormChain{x, in.floats(ne), nullptr, nullptr}, "weight of " + std::to_string(ne[0]));
    check_not_fused(NormChain{x, in.floats({64, 1, 1, 1}, Rows::sparse), nullptr, nullptr}, "gaps");
    check_not_fused(NormChain{in.floats({64, 4, 1, 1}, Rows::sparse), w, nullptr, nullptr}, "rows with gaps");
    NormChain repeated = {in.floats({64, 1, 1, 1}), in.floats({64, 4, 1, 1}), nullptr, nullptr};
    repeated.swapped = true;
    check_not_fused(repeated, "the norm is repeated over the weight");
    check_not_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * norm = ggml_mul(ctx, ggml_norm(ctx, x, 1e-5f), w);
            return ggml_quantize_i8_convrot(ctx, norm, 16);
        },
        "another norm");
    check_not_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * norm = ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), w);
            return ggml_quantize_i8_convrot(ctx, ggml_reshape_1d(ctx, norm, 256), 16);
        },
        "reshaped in between");
    check_not_fused(NormChain{x, w, nullptr, nullptr}, "the rule is switched off", {.disabled = {kRule}});
}

TEST(rms_norm_convrot, is_refused_for_chains_that_use_their_own_intermediates) {
    Inputs in;
    ggml_tensor *x = in.floats({64, 1, 1, 1}), *w = in.floats({64, 1, 1, 1});
    check_not_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * norm = ggml_rms_norm(ctx, x, 1e-5f);
            return ggml_quantize_i8_convrot(ctx, ggml_mul(ctx, norm, norm), 16);
        },
        "the norm squared");
    check_not_fused(
        [=](ggml_context * ctx) {
            ggml_tensor * norm = ggml_rms_norm(ctx, x, 1e-5f);
            return ggml_quantize_i8_convrot(ctx, ggml_mul(ctx, norm, ggml_view_1d(ctx, norm, 64, 0)), 16);
        },
        "the norm by a view of itself");
    const auto modulated_by = [=](bool by_norm) {
        return [=](ggml_context * ctx) {
            ggml_tensor * norm = ggml_rms_norm(ctx, x, 1e-5f);
            ggml_tensor * mul = ggml_mul(ctx, norm, w);
            ggml_tensor * m = ggml_ext_modulate(ctx, mul, nullptr, by_norm ? norm : mul);
            return ggml_quantize_i8_convrot(ctx, m, 16);
        };
    };
    check_fused(modulated_by(true), 1, "modulated by the norm: only modulation and quantization are one");
    check_fused(modulated_by(false), 1, "modulated by the product");
}

TEST(rms_norm_convrot, is_refused_when_the_norm_writes_over_its_input) {
    Inputs in;
    const NormChain made = make(in, 64, 16);
    check_not_fused(
        [=](ggml_context * ctx) {
            NormChain chain = made;
            chain.x = ggml_neg(ctx, made.x);
            chain.scale = nullptr;
            chain.norm_inplace = true;
            return chain(ctx);
        },
        "norm in place");
}

// user_data: number of the form.
ggml_tensor * fuzz_example(ggml_context * ctx, void * form) {
    ggml_tensor * x = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 32, 3, 4, 2);
    NormChain chain = {x, nullptr, nullptr, nullptr};
    for (ggml_tensor ** t : {&chain.weight, &chain.shift, &chain.scale}) {
        *t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 32);
        ggml_set_input(*t);
    }
    ggml_set_input(x);
    return forms_of(chain)[*static_cast<size_t *>(form)](ctx);
}

TEST(rms_norm_convrot, stays_right_when_graphs_are_changed) {
    for (size_t form = 0; form < 6; ++form) fuzz(kRule, fuzz_example, &form, form + 1);
}

} // namespace
} // namespace sd::test
